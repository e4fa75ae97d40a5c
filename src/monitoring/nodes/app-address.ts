/** Where this process serves; known once it listens. */
export class AppAddress {
  url: string | undefined;
}
