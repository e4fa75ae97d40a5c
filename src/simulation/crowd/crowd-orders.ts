/** Input of a crowd's process: JSON on its standard input, which other users of the machine cannot read. */
export interface CrowdOrders {
  /** Token that can only make guests. */
  readonly token: string;
  /** Further users who tap without pause; 0 to 10. */
  readonly hammers: number;
}
