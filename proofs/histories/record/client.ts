import { setTimeout as sleep } from 'node:timers/promises';
import { NotSentError, ScriptRefusedError, UnknownOutcomeError } from 'luanest/script-registry';
import type { Connection } from './connection';
import { now, nowMs, type End, type Journal } from './journal';
import { below, type Random } from './random';

/** One operation that a client is about to make. */
export interface Step {
  readonly input: unknown;
  /** Makes the call. @param id id of the operation @returns the output, as JSON */
  readonly call: (id: string) => Promise<unknown>;
}

/** Memory of a client, such as the lock that it holds. It chooses the next call. */
export interface Session {
  next(): Step;
}

/** The outcome of a call is not known, although no error of the registry says so. */
export class UnknownResult extends Error {}

/** When the clients of a history make their calls. All of them make them at the same moments, so that they overlap. */
export interface Pace {
  /** Start of the first round, by `nowMs`. */
  readonly startAt: number;
  readonly rounds: number;
  readonly roundMs: number;
  /** Calls of a client in a round, one after the other. */
  readonly calls: number;
}

/** Makes one call, and records it. @returns false if the client does not know the outcome, and cannot go on */
export async function makeStep(
  { input, call }: Step,
  key: string,
  client: string,
  journal: Journal,
  connection: Connection,
): Promise<boolean> {
  const before = connection.closes;
  const id = journal.call(key, client, input);
  let end: { how: 'returned'; output: unknown } | { how: 'unknown' | 'no effect' } | { how: 'failed'; error: string };
  try {
    end = { how: 'returned', output: await call(id) };
  } catch (error) {
    if (error instanceof NotSentError || error instanceof ScriptRefusedError) end = { how: 'no effect' };
    else if (error instanceof UnknownOutcomeError || error instanceof UnknownResult) end = { how: 'unknown' };
    else end = { how: 'failed', error: String((error as Error).stack ?? error) };
  }
  journal.end(id, { ...now(), closes: connection.closes - before, ...end } satisfies End);
  return end.how === 'returned' || end.how === 'no effect';
}

/** A client of a history. After a call with an unknown outcome it goes on as a new client. */
export async function runClient(
  { startAt, rounds, roundMs, calls }: Pace,
  { key, name, random }: { readonly key: string; readonly name: string; readonly random: Random },
  sessionOf: () => Session,
  journal: Journal,
  connection: Connection,
  stopped: () => boolean,
): Promise<void> {
  let [session, lives] = [sessionOf(), 0];
  // A process that starts late makes as many rounds.
  const first = Math.max(0, Math.ceil((nowMs() - startAt) / roundMs));
  for (let round = first; round < first + rounds; round++) {
    const wait = startAt + round * roundMs - nowMs();
    if (wait > 0) await sleep(wait + random() * 3);
    for (let i = 0; i < calls; i++) {
      if (stopped()) return;
      if (i > 0 && random() < 0.5) await sleep(below(random, 3));
      const goesOn = await makeStep(session.next(), key, `${name}.${lives}`, journal, connection);
      if (goesOn) continue;
      session = sessionOf();
      lives += 1;
    }
  }
}
