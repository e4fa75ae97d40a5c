import { Logger } from '@nestjs/common';
import { messageOf } from '../../internal/src';
import type { ResolvedConsoleModuleOptions } from './console.options';
import type { Value } from './console.types';

const MAX_CHARS = 10_000;

/** Value for the page instead of a hidden payload. The page then shows only that there is a payload. */
const HIDDEN: Value = Object.freeze({ payload: undefined });

/**
 * Turns payloads into values for the page, as the options `showPayloads` and `redact` allow.
 * See DECISIONS.md: payloads-only-if-asked
 */
export class Payloads {
  private readonly logger = new Logger('ConsoleModule');
  private warned = false;

  constructor(private readonly options: Pick<ResolvedConsoleModuleOptions, 'showPayloads' | 'redact'>) {}

  /**
   * Returns what the page shows of a payload. Without the option `showPayloads`, that is nothing. If the JSON has more than 10,000
   * characters, the page shows its beginning.
   */
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
        this.logger.warn(
          `The console does not show a payload, because the option redact or JSON.stringify() threw an error: ${messageOf(error)}`,
        );
      }
      this.warned = true;
      return HIDDEN;
    }
  }
}
