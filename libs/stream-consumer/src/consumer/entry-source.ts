/** Where messages come from. */
export interface Origin {
  readonly stream: string;
  readonly group: string;
  /** `<partition>:`. */
  readonly idPrefix: string;
  /** True when messages of one key are handled one after the other. */
  readonly isOrdered: boolean;
}
