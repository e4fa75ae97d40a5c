/** Input of a crowd's process, as JSON on its standard input, because all users of the machine can read arguments. */
export interface CrowdOrders {
  /** Bearer token of a crowd, which can only make guests. */
  readonly token: string;
  /** Further users who tap without pause, to exceed the limit of taps; 0 to 10. */
  readonly hammers: number;
}
