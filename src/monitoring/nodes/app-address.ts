/** Base URL of this process; undefined until it listens. */
export class AppAddress {
  url: string | undefined;
}
