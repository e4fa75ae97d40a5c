/** Holder of the base URL of this process. */
export class AppAddress {
  /** Undefined until the process listens. */
  url: string | undefined;
}
