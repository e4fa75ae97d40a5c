import { OnceStore, type StoredReply } from '../../../libs/once/src/once.store';
import { fenceOf } from '../../../libs/once/src/once.scripts';
import type { ConfirmResult, Delivery } from '../../../libs/once/src/once.types';
import type { Actors, Budgets, ScriptCall, Step } from '../engine/protocol';
import { callOf, type World } from '../engine/world';

const LEASE_MS = 1_000;
const NO_WAIT = { replicas: 0, replicasTimeoutMs: 0 };

export interface Worker {
  phase: 'ready' | 'working' | 'giving back' | 'over';
  token: number;
  fence: number;
  /** End of its lease by its own clock, ms since 1970. */
  until: number;
  renewals: number;
}

export interface OnceState extends Actors {
  workers: Record<string, Worker>;
  /** How often work may still fail. */
  failures: number;
  /** How often work began for an id that Redis remembered. */
  begun: number;
  /** The highest fence that was given while Redis remembered the id. */
  fence: number;
  /** Result that Redis has; undefined before a confirmation, and after Redis forgot the id. */
  result: string | undefined;
}

export interface Settings {
  readonly scenario: string;
  readonly budgets: Budgets;
  readonly workers: readonly string[];
  readonly delivery: Delivery;
  readonly retentionMs: number;
  readonly failures?: number;
  readonly renewals?: number;
  /** True: a worker claims again with its token after a lost reply. False: it gives the token back, and takes another one. */
  readonly keepsToken?: boolean;
  readonly depth: number;
}

export const KEY = 'e:once:{mail}:claim';

function storeCall(make: (store: OnceStore) => unknown): ScriptCall {
  return callOf((registry) => make(new OnceStore(registry)));
}

/** The library makes an operation id for each renewal. Here it is the number of the renewal. */
function renewing(token: string, operation: number): ScriptCall {
  const { script, input } = storeCall((store) => store.renew(KEY, token, LEASE_MS, NO_WAIT));
  return { script, input: { keys: input.keys, args: { ...input.args, operation: `r${operation}` } } };
}

/** Returns the result that Redis has, of which each begins with an exclamation mark. */
function resultIn(world: World): string {
  return /![^!]*$/.exec((world.read('GET', KEY) ?? '') as string)?.[0] ?? '';
}

/** Compares what Redis has with what it had. */
export function look(state: OnceState, world: World): void {
  const text = world.read('GET', KEY) as string | null;
  if (text === null) {
    state.result = undefined;
    state.fence = 0;
    state.begun = 0;
  } else if (text.startsWith('d')) {
    const result = resultIn(world);
    if (state.result !== undefined && result !== state.result && !state.disturbed)
      state.wrong = `The result ${state.result} was replaced by ${result}.`;
    state.result = result;
  } else if (state.result !== undefined && !state.disturbed) {
    state.wrong = `The id was done with ${state.result}, and is not done any more.`;
  }
}

function claimed(state: OnceState, worker: Worker, answer: StoredReply, nowMs: number): void {
  const fence = fenceOf(answer);
  if (fence <= state.fence && !state.disturbed && fence !== worker.fence)
    state.wrong = `Fence ${fence} was given after ${state.fence}.`;
  state.fence = Math.max(state.fence, fence);
  state.begun++;
  Object.assign(worker, { phase: 'working', fence, until: nowMs + LEASE_MS });
}

type Done = Step<OnceState>['done'];

export function stepsOf(state: OnceState, settings: Settings): Step<OnceState>[] {
  const { retentionMs, delivery, keepsToken = false } = settings;
  return Object.entries(state.workers).flatMap(
    ([actor, { phase, token: number, renewals, until }]): Step<OnceState>[] => {
      const me = (next: OnceState): Worker => next.workers[actor] as Worker;
      const token = `${actor}${number}`;
      const step = (name: string, call: ScriptCall, done: Done, lost?: (next: OnceState) => void): Step<OnceState> => ({
        actor,
        name,
        call,
        done,
        lost,
      });
      const again = (next: OnceState): void =>
        void Object.assign(me(next), { phase: 'ready', token: number + 1, until: 0 });
      const over = (next: OnceState): void => void Object.assign(me(next), { phase: 'over', until: 0 });
      switch (phase) {
        case 'ready': {
          const claim = { token, leaseMs: LEASE_MS, retentionMs, delivery, fingerprint: '', ...NO_WAIT };
          const done = (next: OnceState, answer: StoredReply, world: World): void => {
            if (answer.status === 'claimed') claimed(next, me(next), answer, world.nowMs);
            else if (answer.status !== 'in-progress') over(next);
            if (answer.status === 'done' && resultIn(world) !== answer.text)
              next.wrong = `The claim gets ${answer.text}, and Redis has ${resultIn(world)}.`;
          };
          const lost = (next: OnceState): void => {
            if (!keepsToken) me(next).phase = 'giving back';
          };
          return [
            step(
              'claim',
              storeCall((store) => store.claim(KEY, claim)),
              done,
              lost,
            ),
          ];
        }
        case 'giving back':
          return [
            step(
              'give back what it may have',
              storeCall((store) => store.giveBack(KEY, token)),
              again,
              again,
            ),
          ];
        case 'working': {
          const confirm = (result: string): ScriptCall =>
            storeCall((store) => store.confirm(KEY, token, result, NO_WAIT));
          const confirmed = (next: OnceState, { status }: ConfirmResult, world: World): void => {
            if (status === 'confirmed' && resultIn(world) !== `!${token}`)
              next.wrong = `${token} is confirmed, and Redis has ${resultIn(world)}.`;
            over(next);
          };
          const steps = [step('confirm', confirm(`!${token}`), confirmed, again)];
          const failed = (next: OnceState): void => {
            next.failures--;
            again(next);
          };
          if (state.failures > 0) {
            const call = delivery === 'at-most-once' ? confirm('!') : storeCall((store) => store.release(KEY, token));
            steps.push(step('fail', call, failed, failed));
          }
          if (renewals > 0 && until > 0) {
            const used = (next: OnceState): void => void me(next).renewals--;
            const renewed = (next: OnceState, { status }: { status: string }, world: World): void => {
              used(next);
              me(next).until = status === 'renewed' ? world.nowMs + LEASE_MS : 0;
            };
            steps.push(step('renew', renewing(token, renewals), renewed, used));
          }
          return steps;
        }
        case 'over':
          return [];
      }
    },
  );
}
