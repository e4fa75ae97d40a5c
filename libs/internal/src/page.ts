/** A page of a list, such as the dead letters of a queue. */
export interface Page<Item> {
  readonly items: readonly Item[];
  /** Text to pass as `cursor` to get the next page; undefined if this is the last page. */
  readonly nextCursor?: string;
}
