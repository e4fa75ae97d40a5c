import type { Page } from 'playwright-core';
import type { Story } from '../../src/console.types';
import { HOUR_MS, type Shop } from './shop';

/** An action, as a user comes to it. */
export interface Case {
  /** Makes what the action is for. Returns the hash of its page, and a check of what the action did, which fails before it. */
  prepare(shop: Shop): Promise<{ hash: string; did: () => Promise<unknown> | void }>;
  /** Name of the button. */
  readonly button: string;
  /** Request of the page's user, without the target. */
  readonly act: { readonly section: string; readonly action: string; readonly input?: object };
  /** Fills in the inputs. */
  readonly fill?: (page: Page) => Promise<unknown>;
  readonly count?: number;
}

export const path = (...address: readonly string[]): string => `#/${address.map(encodeURIComponent).join('/')}`;

/** Schedules tasks that are due in an hour. */
async function later(shop: Shop, name: string, ...ids: string[]): Promise<void> {
  await shop.tasks.scheduleMany(ids.map((id) => ({ name, id, delayMs: HOUR_MS })));
}

const queues: Record<string, Case> = {
  'runs a task now': {
    button: 'Run now',
    act: { section: 'queues', action: 'run-now' },
    async prepare(shop) {
      shop.mails.broken = undefined;
      await shop.tasks.schedule('mail', 'now', { id: 'now', delayMs: HOUR_MS });
      return { hash: path('queues', 'tasks', 'emails', 'now'), did: () => expect(shop.mails.sent).toContain('now') };
    },
  },
  'moves a task to another instant': {
    button: 'Move',
    act: { section: 'queues', action: 'move', input: { atMs: Date.UTC(2030, 0, 1) } },
    fill: (page) => page.fill('dialog input', '2030-01-01T00:00'),
    async prepare(shop) {
      await later(shop, 'mail', 'moved');
      const did = async () =>
        expect(new Date((await shop.tasks.get('moved'))?.atMs ?? 0).toISOString()).toMatch(/^(2029-12-3|2030-01-0)1/);
      return { hash: path('queues', 'tasks', 'emails', 'moved'), did };
    },
  },
  'cancels a task': {
    button: 'Cancel',
    act: { section: 'queues', action: 'cancel' },
    async prepare(shop) {
      await later(shop, 'mail', 'cancelled');
      const did = async () => expect(await shop.tasks.get('cancelled')).toBeUndefined();
      return { hash: path('queues', 'tasks', 'emails', 'cancelled'), did };
    },
  },
  'cancels all tasks of a filter, and no others': {
    button: 'Cancel',
    act: { section: 'queues', action: 'cancel' },
    count: 3,
    async prepare(shop) {
      await later(shop, 'report', 'r1', 'r2', 'r3');
      await later(shop, 'mail', 'kept');
      const did = async () => {
        const states = ['r1', 'r2', 'r3', 'kept'].map((id) => shop.tasks.get(id));
        expect((await Promise.all(states)).map((task) => task?.id)).toEqual([undefined, undefined, undefined, 'kept']);
      };
      return { hash: `${path('queues', 'tasks')}?filter=name:report`, did };
    },
  },
  'retries a dead letter': {
    button: 'Retry',
    act: { section: 'queues', action: 'retry' },
    async prepare(shop) {
      shop.mails.broken = 'SMTP 421';
      await shop.deadMail('dead-1', 'again');
      shop.mails.broken = undefined;
      const did = () => expect(shop.mails.sent).toContain('again');
      return { hash: path('queues', 'tasks', 'emails', 'dead-1'), did };
    },
  },
  'retries all dead letters': {
    button: 'Retry',
    act: { section: 'queues', action: 'retry' },
    count: 2,
    async prepare(shop) {
      shop.mails.broken = 'SMTP 421';
      for (const id of ['dead-2', 'dead-3']) await shop.deadMail(id, id);
      shop.mails.broken = undefined;
      const did = () => expect(shop.mails.sent).toEqual(expect.arrayContaining(['dead-2', 'dead-3']));
      return { hash: `${path('queues', 'dead')}?filter=queue:emails`, did };
    },
  },
  'drops a dead letter': {
    button: 'Drop',
    act: { section: 'queues', action: 'drop' },
    async prepare(shop) {
      shop.mails.broken = 'SMTP 421';
      await shop.deadMail('dead-4');
      const did = async () => expect(await shop.tasks.get('dead-4')).toBeUndefined();
      return { hash: path('queues', 'tasks', 'emails', 'dead-4'), did };
    },
  },
  'drops all dead letters of a filter': {
    button: 'Drop',
    act: { section: 'queues', action: 'drop' },
    count: 2,
    async prepare(shop) {
      shop.mails.broken = 'SMTP 421';
      for (const id of ['dead-5', 'dead-6']) await shop.deadMail(id);
      const did = async () => expect((await shop.tasks.list({ state: 'dead' })).items).toEqual([]);
      return { hash: `${path('queues', 'dead')}?filter=name:mail`, did };
    },
  },
  'pauses a queue': {
    button: 'Pause',
    act: { section: 'queues', action: 'pause' },
    async prepare(shop) {
      await shop.tasks.queue('invoices').resume();
      const did = async () => expect(await shop.tasks.queue('invoices').stats()).toMatchObject({ paused: true });
      return { hash: path('queues', 'queues', 'invoices'), did };
    },
  },
  'resumes a queue': {
    button: 'Resume',
    act: { section: 'queues', action: 'resume' },
    async prepare(shop) {
      await shop.tasks.queue('invoices').pause();
      const did = async () => expect(await shop.tasks.queue('invoices').stats()).toMatchObject({ paused: false });
      return { hash: path('queues', 'queues', 'invoices'), did };
    },
  },
  'resumes a group': {
    button: 'Resume',
    act: { section: 'queues', action: 'resume' },
    async prepare(shop) {
      shop.mails.broken = undefined;
      await shop.tasks.pause({ group: 'acme' });
      await shop.tasks.schedule('mail', 'of acme', { id: 'of-acme', group: 'acme' });
      const did = () => expect(shop.mails.sent).toContain('of acme');
      return { hash: path('queues', 'groups', 'emails', 'acme'), did };
    },
  },
  'runs a schedule now': {
    button: 'Run now',
    act: { section: 'queues', action: 'run-now' },
    async prepare(shop) {
      shop.mails.broken = undefined;
      await shop.tasks.upsertSchedule('daily', { cron: '0 3 1 1 *' }, { name: 'mail', payload: 'of the schedule' });
      const did = () => expect(shop.mails.sent).toContain('of the schedule');
      return { hash: path('queues', 'schedules', 'emails', 'daily'), did };
    },
  },
  'removes a schedule': {
    button: 'Remove',
    act: { section: 'queues', action: 'remove' },
    async prepare(shop) {
      await shop.tasks.upsertSchedule('weekly', { cron: '0 3 1 1 *' }, { name: 'mail', payload: 1 });
      const did = async () => expect(await shop.tasks.getSchedule('weekly')).toBeUndefined();
      return { hash: path('queues', 'schedules', 'emails', 'weekly'), did };
    },
  },
};

/** Returns a fact of a thing, as the console reads it from Redis. */
async function factOf(shop: Shop, name: string, ...address: readonly string[]): Promise<unknown> {
  const url = `${shop.url}api/show?address=${encodeURIComponent(address.map(encodeURIComponent).join('/'))}`;
  const story = (await (await fetch(url, { headers: { 'x-user': 'test' } })).json()) as Story;
  return story.facts.find((fact) => fact.name === name)?.value;
}

const GROUP = ['streams', 'groups', 'orders', 'shipping'] as const;

const streams: Record<string, Case> = {
  'drops all dead letters of a group': {
    button: 'Drop',
    act: { section: 'streams', action: 'drop' },
    count: 2,
    async prepare(shop) {
      await shop.streams.dropAll('orders', 'shipping');
      for (const order of [1, 2]) await shop.deadOrder({ order });
      const did = async () => expect(await shop.streams.stats('orders', 'shipping')).toMatchObject({ dead: 0 });
      return { hash: `${path('streams', 'dead')}?filter=stream:orders+group:shipping`, did };
    },
  },
  'pauses a group': {
    button: 'Pause',
    act: { section: 'streams', action: 'pause' },
    async prepare(shop) {
      await shop.deadOrder();
      const did = async () => expect(await factOf(shop, 'paused', ...GROUP)).toBe(true);
      return { hash: path(...GROUP), did };
    },
  },
  'resumes a group': {
    button: 'Resume',
    act: { section: 'streams', action: 'resume' },
    async prepare(shop) {
      await shop.deadOrder();
      await shop.streams.pause('orders', 'shipping');
      const did = async () => expect(await factOf(shop, 'paused', ...GROUP)).toBe(false);
      return { hash: path(...GROUP), did };
    },
  },
  // Last, because the replayed order becomes a dead letter again later.
  'replays a dead letter': {
    button: 'Replay',
    act: { section: 'streams', action: 'replay' },
    async prepare(shop) {
      const id = await shop.deadOrder();
      const did = async () => expect((await shop.streams.stats('orders', 'shipping')).lag).toBeGreaterThan(0);
      return { hash: path('streams', 'dead', 'orders', 'shipping', id), did };
    },
  },
};

const others: Record<string, Case> = {
  'releases a lock': {
    button: 'Release',
    act: { section: 'locks', action: 'release' },
    async prepare({ locks }) {
      const lock = await locks.acquire('ledger', { leaseMs: HOUR_MS });
      return { hash: path('locks', 'held', 'ledger'), did: () => expect(lock.signal.aborted).toBe(true) };
    },
  },
  'runs a job now': {
    button: 'Run now',
    act: { section: 'jobs', action: 'run-now' },
    prepare: ({ nightly }) =>
      Promise.resolve({ hash: path('jobs', 'all', 'close-day'), did: () => expect(nightly.runs).toBe(1) }),
  },
  'resets what a subject has used': {
    button: 'Reset',
    act: { section: 'limits', action: 'reset' },
    async prepare({ limits }) {
      for (let n = 0; n < 7; n++) await limits.consume('login', '10.0.0.7');
      const did = async () => expect(await limits.peek('login', '10.0.0.7')).toMatchObject({ rules: [{ used: 0 }] });
      return { hash: path('limits', 'subjects', '10.0.0.7', 'login'), did };
    },
  },
  'blocks a subject': {
    button: 'Block',
    act: { section: 'limits', action: 'block', input: { blockMs: 5_400_000 } },
    async fill(page) {
      await page.fill('dialog input', '1.5');
      await page.selectOption('dialog select', { label: 'hours' });
    },
    async prepare({ limits }) {
      await limits.consume('login', '10.0.0.8');
      const did = async () => expect(await limits.peek('login', '10.0.0.8')).toMatchObject({ allowed: false });
      return { hash: path('limits', 'subjects', '10.0.0.8', 'login'), did };
    },
  },
  'releases a claim': {
    button: 'Release',
    act: { section: 'once', action: 'release' },
    async prepare({ once }) {
      await once.claim('import-7');
      const did = async () => expect(await once.claim('import-7')).toMatchObject({ status: 'claimed' });
      return { hash: path('once', 'claims', 'import-7'), did };
    },
  },
  'forgets a result': {
    button: 'Forget',
    act: { section: 'once', action: 'forget' },
    async prepare({ once }) {
      const pay = (amount: number) => once.run('charge-7', {}, () => amount);
      await pay(1);
      return {
        hash: path('once', 'claims', 'charge-7'),
        did: async () => expect(await pay(2)).toMatchObject({ result: 2 }),
      };
    },
  },
  'takes a grant back': {
    button: 'Take back',
    act: { section: 'rewards', action: 'take-back' },
    async prepare({ rewards }) {
      const { grantId = '' } = (await rewards.record({ rule: 'article', userId: 'ann', itemId: 'a1' })) as {
        grantId?: string;
      };
      const did = async () => expect(await rewards.status('ann')).toMatchObject([{ points: 0 }]);
      return { hash: path('rewards', 'users', 'ann', 'article', 'items', grantId), did };
    },
  },
  'pauses a rain': {
    button: 'Pause',
    act: { section: 'red-packets', action: 'pause' },
    async prepare(shop) {
      await shop.rain('rain-1', ['ann']);
      const did = async () => expect(await shop.packets.status('rain-1')).toMatchObject({ state: 'paused' });
      return { hash: path('red-packets', 'activities', 'rain-1'), did };
    },
  },
  'resumes a rain': {
    button: 'Resume',
    act: { section: 'red-packets', action: 'resume' },
    async prepare(shop) {
      await shop.rain('rain-2', ['ann']);
      await shop.packets.pause('rain-2');
      const did = async () => expect(await shop.packets.status('rain-2')).toMatchObject({ state: 'open' });
      return { hash: path('red-packets', 'activities', 'rain-2'), did };
    },
  },
  'closes a rain': {
    button: 'Close',
    act: { section: 'red-packets', action: 'close' },
    async prepare(shop) {
      await shop.rain('rain-3', ['ann']);
      const did = async () =>
        expect(await shop.packets.status('rain-3')).toMatchObject({ state: 'closed', refundedPackets: 5 });
      return { hash: path('red-packets', 'activities', 'rain-3'), did };
    },
  },
  'replays the payouts of a rain': {
    button: 'Replay',
    act: { section: 'red-packets', action: 'replay' },
    count: 2,
    async prepare(shop) {
      await shop.rain('rain-4', ['ann', 'bob', 'cem'], ['bob', 'cem']);
      const did = async () => expect(await shop.payouts.stats('rain-4')).toEqual({ open: 2, deadLetters: 0 });
      return { hash: path('red-packets', 'activities', 'rain-4'), did };
    },
  },
  'drops the payouts of a rain': {
    button: 'Drop',
    act: { section: 'red-packets', action: 'drop' },
    count: 2,
    async prepare(shop) {
      await shop.rain('rain-5', ['ann', 'bob', 'cem'], ['bob', 'cem']);
      const did = async () => expect(await shop.payouts.stats('rain-5')).toEqual({ open: 0, deadLetters: 0 });
      return { hash: path('red-packets', 'activities', 'rain-5'), did };
    },
  },
  'retries a row of the outbox': {
    button: 'Retry',
    act: { section: 'outbox', action: 'retry' },
    async prepare(shop) {
      const id = await shop.rowSetAside('INVALID_INPUT: no');
      const did = async () => expect(await shop.outbox.stats()).toMatchObject({ waiting: 1, failed: 0 });
      return { hash: path('outbox', 'failed', id), did };
    },
  },
  'drops all failed rows of the outbox': {
    button: 'Drop',
    act: { section: 'outbox', action: 'drop' },
    count: 2,
    async prepare(shop) {
      for (let n = 0; n < 2; n++) await shop.rowSetAside('INVALID_INPUT: no');
      const did = async () => expect(await shop.outbox.stats()).toMatchObject({ failed: 0 });
      return { hash: path('outbox', 'failed'), did };
    },
  },
};

/** Each action of each section, in groups. */
export const CASES = { queues, streams, others };
