import { CommandFailure } from '../connection/port';
import { thrownText } from '../../../internal/src';
import type { Call } from './call';
import { NotSentError, ScriptFailedError, ScriptRefusedError, UnknownOutcomeError } from '../script-registry.errors';

/** Returns a thrown value as an Error. */
export function asError(error: unknown): Error {
  return error instanceof Error ? error : new Error(thrownText(error));
}

/** Converts an error to a CommandFailure. After an error of any other class, it is unknown if the command was sent. */
export function asFailure(error: unknown): CommandFailure {
  return error instanceof CommandFailure ? error : new CommandFailure('lost', asError(error).message);
}

/** Error codes of a Cluster node that cannot run a command because of the slots of its keys, or because the Cluster is down. */
const REDIRECTS = new Set(['MOVED', 'ASK', 'TRYAGAIN', 'CROSSSLOT', 'CLUSTERDOWN']);

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

/** Returns true if the node refused this command, and its calls must be sent again one by one, through the client's own routing. */
export function asksForSingles(failure: CommandFailure, calls: number, clustered: boolean): boolean {
  if (failure.raisedByScript) return false;
  // A Cluster sends a command again whose connection closed, perhaps to another node, and that node lacks the script.
  if (clustered && failure.noScript && failure.mayHaveRun) return true;
  // NOPERM may be due to the keys of one call only, so each call is sent alone.
  return REDIRECTS.has(failure.code) || (failure.code === 'NOPERM' && calls > 1);
}

export interface FailingScript {
  readonly name: string;
  /** Replaces line numbers of the Lua that Redis has by those of the script. */
  readonly inScript: (message: string) => string;
}

/**
 * Makes the error of a call whose command failed.
 *
 * @param lost true if a sending of the call may have run without a reply
 */
export function callError({ name: script, inScript }: FailingScript, failure: CommandFailure, lost: boolean): Error {
  const { kind, code, raisedByScript } = failure;
  if (raisedByScript) return scriptError({ name: script, inScript }, failure.message);
  const message = inScript(failure.message).replace(/\.$/, '');
  if (lost || kind === 'lost') {
    const problem =
      kind === 'lost' ? message : `its reply was lost, and when it was sent again, it failed with "${message}"`;
    return new UnknownOutcomeError(
      `${script} may have run, or may still run: ${problem}. Repeat the call only if a second run is harmless.`,
      { cause: failure },
    );
  }
  if (kind === 'not-sent')
    return new NotSentError(`${script} did not run: ${message}. The call had no effect.`, { cause: failure });
  if (REFUSALS.has(code) || failure.noScript) {
    return new ScriptRefusedError(`Redis refused to run ${script}: ${message}. The call had no effect.`, code, {
      cause: failure,
    });
  }
  return scriptError({ name: script, inScript }, failure.message);
}

/**
 * Makes the error of a call that has no reply at its deadline.
 *
 * @param closed true if the call is rejected because ScriptRegistry closes
 */
export function expiryError(call: Call, closed: boolean): NotSentError | UnknownOutcomeError {
  const { name } = call.script;
  const when = closed ? 'before ScriptRegistry was closed' : 'by its deadline';
  const why = closed ? '' : ', for example because Redis or this process was busy, or Redis was unavailable';
  return call.mayHaveRun
    ? new UnknownOutcomeError(`No reply to ${name} came ${when}. The script may have run, or may still run.`)
    : new NotSentError(`${name} did not run ${when}${why}. The call had no effect.`);
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
