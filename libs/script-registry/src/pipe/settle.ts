import { CommandFailure } from '../connection/port';
import { inSource, isRedirect, isRefusal, isRefusalCode, saysRaised } from '../connection/server-errors';
import { thrownText } from '../../../internal/src';
import type { Call } from './call';
import {
  NotSentError,
  ReplyDecodeError,
  ScriptFailedError,
  ScriptRefusedError,
  UnknownOutcomeError,
} from '../script-registry.errors';

/** Returns a thrown value as an Error. */
export function asError(error: unknown): Error {
  return error instanceof Error ? error : new Error(thrownText(error));
}

/** Converts an error to a CommandFailure. An unexpected error becomes `lost`, because the command may have been sent. */
export function asFailure(error: unknown): CommandFailure {
  return error instanceof CommandFailure ? error : new CommandFailure('lost', asError(error).message);
}

/** Returns true if the calls of this command must be sent again one by one, because the node refused the command. */
export function asksForSingles(failure: CommandFailure, calls: number, clustered: boolean): boolean {
  // The client of a Cluster sends a command again when its connection closes, perhaps to another node, which may lack the script.
  if (clustered && failure.noScript && failure.mayHaveRun) return true;
  if (failure.kind !== 'reply') return false;
  // Only one of the calls may have a key that is not permitted (NOPERM), so each is tried alone.
  return (
    (clustered && isRedirect(failure.message)) ||
    (failure.code === 'NOPERM' && calls > 1 && isRefusal(failure.message, clustered))
  );
}

/**
 * Returns the error that the caller gets for a failed command.
 *
 * @param lost true if an earlier copy of the call may have run, and its reply was lost
 * @param clustered true for a Redis Cluster
 */
export function callError(script: string, failure: CommandFailure, lost: boolean, clustered: boolean): Error {
  const { kind, code } = failure;
  if (kind === 'reply' && saysRaised(failure.message)) return scriptError(script, failure.message);
  const message = inSource(failure.message).replace(/\.$/, '');
  if (lost || kind === 'lost') {
    const problem = kind === 'lost' ? message : `its reply was lost, and a second attempt failed with "${message}"`;
    return unknownOutcome(script, problem, failure);
  }
  if (kind === 'not-sent')
    return new NotSentError(
      `The script ${script} did not run: ${message}. The call had no effect. Check Redis, then repeat the call.`,
      { cause: failure },
    );
  if (isRefusal(failure.message, clustered)) {
    return new ScriptRefusedError(
      `Redis refused to run the script ${script}: ${message}. The call had no effect. Correct the server or its permissions.`,
      code,
      { cause: failure },
    );
  }
  // The script may have raised this error, or the server may have refused the call in words that luanest does not know.
  if (isRefusalCode(code)) return unknownOutcome(script, `the reply was "${message}"`, failure);
  return scriptError(script, failure.message);
}

function unknownOutcome(script: string, problem: string, cause: CommandFailure): UnknownOutcomeError {
  return new UnknownOutcomeError(
    `The script ${script} may have run, or may still run: ${problem}. Repeat the call only if a second run is harmless.`,
    { cause },
  );
}

/**
 * Returns the error for a call that has no reply when its deadline comes, or when ScriptRegistry closes.
 *
 * @param closed true if ScriptRegistry closes
 */
export function expiryError(call: Call, closed: boolean): NotSentError | UnknownOutcomeError {
  const { name } = call.script;
  const when = closed ? 'before the app closed ScriptRegistry' : 'by its deadline (deadlineMs)';
  const why = closed ? '' : ', for example because Redis was unavailable, or Redis or this process was busy';
  return call.mayHaveRun
    ? new UnknownOutcomeError(
        `The script ${name} may have run, or may still run: no reply came ${when}. Repeat the call only if a second run is harmless.`,
      )
    : new NotSentError(`The script ${name} did not run ${when}${why}. The call had no effect, so you can repeat it.`);
}

/** Returns the error for a call whose script raised or returned an error. */
export function scriptError(script: string, raw: string): ScriptFailedError {
  const message = inSource(raw);
  // A script may return an error whose first word is not a code. `ERR` then becomes its code.
  const text = /^[A-Z][A-Z0-9_]+ /.test(message) ? message : `ERR ${message}`;
  return new ScriptFailedError(`The script ${script} failed: ${text}`, text.split(' ', 1)[0] ?? 'ERR');
}

/**
 * Passes the reply to a command to its callers. The reply to a group of calls is an array with one element per call.
 *
 * @param fail rejects a call
 */
export function settle(
  script: string,
  calls: readonly Call[],
  raw: unknown,
  fail: (call: Call, error: Error) => void,
): void {
  if (calls.length === 1) {
    const [call] = calls as [Call];
    const problem = call.resolve(raw);
    if (problem !== undefined) fail(call, problem);
    return;
  }
  const replies: readonly unknown[] = Array.isArray(raw) ? raw : [];
  for (let i = 0; i < calls.length; i++) {
    const call = calls[i] as Call;
    const reply = replies[i];
    if (replies.length !== calls.length) {
      const seen = `${replies.length} values for ${calls.length} calls`;
      const message = `The script ${script} ran, but the reply to its group of calls is incomplete (${seen}), so the result is lost.`;
      fail(call, new ReplyDecodeError(message));
    } else if (reply instanceof Error) fail(call, scriptError(script, reply.message));
    else {
      const problem = call.resolve(reply);
      if (problem !== undefined) fail(call, problem);
    }
  }
}
