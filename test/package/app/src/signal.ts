/** Something that happens later, once. */
export class Signal<T> {
  tell!: (value: T) => void;
  readonly told = new Promise<T>((resolve) => (this.tell = resolve));
}
