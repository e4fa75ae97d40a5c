import type { CommandFailure } from '../connection/port';
import { thrownText } from '../../../internal/src';
import { NotSentError, ScriptFailedError, ScriptRefusedError, UnknownOutcomeError } from '../script-registry.errors';

/** Returns what was thrown as an Error. Never throws. */
export function asError(error: unknown): Error {
  return error instanceof Error ? error : new Error(thrownText(error));
}

/** Errors with which a Cluster says that another node is meant, or that the keys are split for the moment. */
const REDIRECTS = new Set(['MOVED', 'ASK', 'TRYAGAIN', 'CROSSSLOT', 'CLUSTERDOWN']);

/** Errors that Redis gives before it runs a script. */
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

/** Whether calls that failed so must be sent again singly, by the client's own routing: nothing of them ran. */
export function asksForSingles(failure: CommandFailure, calls: number): boolean {
  if (failure.kind !== 'reply' || failure.raisedByScript) return false;
  // NOPERM may concern one call's keys only, so its neighbours get a try of their own.
  return REDIRECTS.has(failure.code) || (failure.code === 'NOPERM' && calls > 1);
}

/** What the errors of a script's calls need to know of it. */
export interface FailingScript {
  readonly name: string;
  /** Replaces lines of the form that Redis ran by lines of the script. */
  readonly inScript: (message: string) => string;
}

/**
 * Error for a caller whose command failed as a whole.
 *
 * @param lost whether an earlier command with this call, or an earlier sending of this one, was never answered
 */
export function callError({ name: script, inScript }: FailingScript, failure: CommandFailure, lost: boolean): Error {
  const { kind, code, raisedByScript } = failure;
  if (raisedByScript) return scriptError({ name: script, inScript }, failure.message);
  const message = inScript(failure.message);
  if (lost || kind === 'lost') {
    const what = kind === 'lost' ? message : `${message} (the reply to a repeated send; an earlier reply was lost)`;
    return new UnknownOutcomeError(
      `${script} was sent, and its outcome is unknown: ${what}. It may have run. Repeat it only if a second run is harmless.`,
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

/** The error of a caller whose script raised or returned an error. */
export function scriptError({ name: script, inScript }: FailingScript, raw: string): ScriptFailedError {
  // As Redis writes an error: up to the first NUL, on one line.
  const [upToNul = ''] = raw.split('\0', 1);
  const message = inScript(upToNul.replace(/[\r\n]+$/, '').replaceAll(/[\r\n]/g, ' '));
  // Errors that a script returns need not have a code.
  const text = /^[A-Z][A-Z0-9_]+ /.test(message) ? message : `ERR ${message}`;
  return new ScriptFailedError(`${script} failed: ${text}`, text.split(' ', 1)[0] ?? 'ERR');
}
