import { Logger } from '@nestjs/common';
import { messageOf } from '../../internal/src';
import type { ResolvedConsoleModuleOptions } from './console.options';
import type { Value } from './console.types';

const MAX_CHARS = 10_000;

/** The page shows that there is a payload. */
const HIDDEN: Value = Object.freeze({ payload: undefined });

/** Payloads as the console shows them. See DECISIONS.md: payloads-only-if-asked */
export class Payloads {
  private readonly logger = new Logger('ConsoleModule');
  private warned = false;

  constructor(private readonly options: Pick<ResolvedConsoleModuleOptions, 'showPayloads' | 'redact'>) {}

  /** Returns the value for the page: an empty one without `showPayloads`, and the beginning of its JSON if that is longer than 10,000. */
  show(payload: unknown): Value {
    const { showPayloads, redact } = this.options;
    if (!showPayloads) return HIDDEN;
    try {
      const shown = redact ? redact(payload) : payload;
      const json = JSON.stringify(shown) as string | undefined;
      if (json === undefined) return HIDDEN;
      return json.length > MAX_CHARS ? { payload: `${json.slice(0, MAX_CHARS)}…` } : { payload: shown };
    } catch (error) {
      if (!this.warned) {
        this.logger.warn(`A payload is not shown, because redact() or JSON.stringify() threw: ${messageOf(error)}`);
      }
      this.warned = true;
      return HIDDEN;
    }
  }
}
