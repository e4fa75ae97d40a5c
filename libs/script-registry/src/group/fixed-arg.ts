import type { ArgType } from '../arg-types';
import type { Call } from './call';

/** Longest text that a FixedArg keeps, characters. */
const LONGEST_KEPT = 256;

/** Encoder of one argument that is not a list. It keeps the last text, since consecutive calls often have the same value. */
export class FixedArg {
  private lastValue: unknown;
  private lastText: string | undefined;

  /** @param label the argument as errors name it */
  constructor(
    private readonly name: string,
    private readonly label: string,
    private readonly type: ArgType<unknown>,
  ) {}

  encode(call: Call, values: Readonly<Record<string, unknown>>): string | Buffer {
    const value = values[this.name];
    let text: string | Buffer | undefined = this.lastText;
    if (text === undefined || value !== this.lastValue) {
      text = this.type.encode(value, this.label);
      // Bytes are not kept, since the same object may change; long texts are not kept, to save memory.
      if (typeof text === 'string' && text.length <= LONGEST_KEPT) [this.lastValue, this.lastText] = [value, text];
    }
    call.chars += text.length;
    return text;
  }
}
