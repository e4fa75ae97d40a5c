/** Where messages come from. */
export interface Origin {
  readonly stream: string;
  readonly group: string;
  /** `<partition>:`. */
  readonly idPrefix: string;
}
