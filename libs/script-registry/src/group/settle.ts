import type { CommandFailure } from '../connection/port';
import { thrownText } from '../../../internal/src';
import { NotSentError, ScriptFailedError, ScriptRefusedError, UnknownOutcomeError } from '../script-registry.errors';

/** Returns what was thrown as an Error. Never throws. */
export function asError(error: unknown): Error {
  return error instanceof Error ? error : new Error(thrownText(error));
}

/** Errors of a Cluster: another node has the slot, or the keys are split while the slot moves. */
const REDIRECTS = new Set(['MOVED', 'ASK', 'TRYAGAIN', 'CROSSSLOT', 'CLUSTERDOWN']);

/** Error codes of Redis for a script that it did not run. */
const REFUSALS = new Set([
  'OOM',
  'READONLY',
  'MISCONF',
  'NOREPLICAS',
  'NOPERM',
  'NOAUTH',
  'BUSY',
  'LOADING',
  'MASTERDOWN',
  ...REDIRECTS,
]);

/** Returns true if the calls did not run and must be sent again one by one, through the client's own routing. */
export function asksForSingles(failure: CommandFailure, calls: number): boolean {
  if (failure.kind !== 'reply' || failure.raisedByScript) return false;
  // NOPERM may be due to the keys of one call only, so each call is sent alone.
  return REDIRECTS.has(failure.code) || (failure.code === 'NOPERM' && calls > 1);
}

/** The parts of a script that its errors need. */
export interface FailingScript {
  readonly name: string;
  /** Replaces line numbers of the loaded form by those of the script. */
  readonly inScript: (message: string) => string;
}

/**
 * Makes the error of a call whose command failed.
 *
 * @param lost true if an earlier command with this call, or an earlier sending of this command, got no reply
 */
export function callError({ name: script, inScript }: FailingScript, failure: CommandFailure, lost: boolean): Error {
  const { kind, code, raisedByScript } = failure;
  if (raisedByScript) return scriptError({ name: script, inScript }, failure.message);
  const message = inScript(failure.message);
  if (lost || kind === 'lost') {
    const problem = kind === 'lost' ? message : `${message} (the reply to a repeated send; an earlier reply was lost)`;
    return new UnknownOutcomeError(
      `${script} was sent, and its outcome is unknown: ${problem}. It may have run. Repeat it only if a second run is harmless.`,
      { cause: failure },
    );
  }
  if (kind === 'not-sent')
    return new NotSentError(`${script} was not sent: ${message}. It had no effect.`, { cause: failure });
  if (REFUSALS.has(code) || failure.noScript) {
    return new ScriptRefusedError(`Redis refused ${script} before it ran: ${message}`, code, { cause: failure });
  }
  return scriptError({ name: script, inScript }, failure.message);
}

/** Makes the error of a call whose script raised or returned an error. */
export function scriptError({ name: script, inScript }: FailingScript, raw: string): ScriptFailedError {
  // Redis cuts errors at the first NUL and puts them on one line. Errors in a group's reply get the same form.
  const [upToNul = ''] = raw.split('\0', 1);
  const message = inScript(upToNul.replace(/[\r\n]+$/, '').replaceAll(/[\r\n]/g, ' '));
  // Errors that a script returns may lack a code.
  const text = /^[A-Z][A-Z0-9_]+ /.test(message) ? message : `ERR ${message}`;
  return new ScriptFailedError(`${script} failed: ${text}`, text.split(' ', 1)[0] ?? 'ERR');
}
