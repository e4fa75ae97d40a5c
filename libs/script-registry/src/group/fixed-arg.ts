import type { ArgType } from '../arg-types';
import type { Call } from './call';

const LONGEST_KEPT = 256;

/** A declared argument that is not a list; remembers its last value, since calls of one rule, queue or activity come in runs. */
export class FixedArg {
  private lastValue: unknown;
  private lastText: string | undefined;

  constructor(
    private readonly name: string,
    private readonly type: ArgType<unknown>,
  ) {}

  encode(call: Call, values: Readonly<Record<string, unknown>>): string | Buffer {
    const value = values[this.name];
    let text: string | Buffer | undefined = this.lastText;
    if (text === undefined || value !== this.lastValue) {
      text = this.type.encode(value, this.name);
      // No bytes, which may change in the same object, and nothing long, which would be kept for nothing.
      if (typeof text === 'string' && text.length <= LONGEST_KEPT) [this.lastValue, this.lastText] = [value, text];
    }
    call.chars += text.length;
    return text;
  }
}
