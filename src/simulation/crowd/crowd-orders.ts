/** What the process of a crowd reads as JSON from its standard input, where other users of the machine cannot see it. */
export interface CrowdOrders {
  /** Makes guests, and nothing else. */
  readonly token: string;
  /** Users who tap as fast as they can; 0 to 10. */
  readonly hammers: number;
}
