import { ManualTime, turn } from '../../../test/support/manual-time';
import { pending, type Pending } from '../../../test/support/replies';
import { Bell } from '../src';

const time = new ManualTime();

/** Channels of which the test says when a subscription begins and ends. */
class TestChannels {
  readonly calls: { readonly key: string; readonly notify: () => void; readonly reply: Pending<() => void> }[] = [];
  stopped = 0;
  readonly stop = (): void => void (this.stopped += 1);

  listen(key: string, notify: () => void): Promise<() => void> {
    const reply = pending<() => void>();
    this.calls.push({ key, notify, reply });
    return reply.promise;
  }

  get last() {
    return this.calls.at(-1) as (typeof this.calls)[number];
  }

  /** Confirms the last subscription, as a reply of Redis does. */
  async confirm(): Promise<void> {
    await turn();
    this.last.reply.resolve(this.stop);
    await turn();
  }
}

function open() {
  const channels = new TestChannels();
  const rings: boolean[] = [];
  const errors: unknown[] = [];
  const bell = new Bell(
    channels,
    'c',
    (begins) => void rings.push(begins),
    (error) => void errors.push(error),
  );
  return { channels, rings, errors, bell };
}

it('listens once, however often it is asked to, and rings at each message', async () => {
  const { channels, rings, bell } = open();
  bell.listen();
  bell.listen();
  expect(channels.calls.map(({ key }) => key)).toEqual(['c']);
  await channels.confirm();
  rings.length = 0;
  channels.last.notify();
  expect(rings).toEqual([false]);
  // ScriptRegistry keeps a listener after a message, but not after a loss. The bell does not know which it was.
  bell.listen();
  expect(channels.calls).toHaveLength(2);
});

it('rings when a new subscription begins: messages that were published before did not come', async () => {
  const { channels, rings, bell } = open();
  bell.listen();
  await channels.confirm();
  expect(rings).toEqual([true]);
});

it('does not ring when it joins a subscription that exists: nothing was missed', async () => {
  const { channels, rings, bell } = open();
  bell.listen();
  channels.last.reply.resolve(channels.stop);
  await turn();
  expect(rings).toEqual([]);
});

it('rings each second, and reports the error, while the channel cannot be listened to', async () => {
  const { channels, rings, errors, bell } = open();
  bell.listen();
  for (let i = 1; i <= 3; i++) {
    channels.last.reply.reject(new Error(`refused ${i}`));
    await turn();
    expect(errors).toHaveLength(i);
    expect(rings).toHaveLength(i - 1);
    bell.listen();
    expect(channels.calls).toHaveLength(i);
    await time.pass(1_000);
    expect(rings).toHaveLength(i);
    bell.listen();
    expect(channels.calls).toHaveLength(i + 1);
  }
  expect(errors).toEqual([1, 2, 3].map((i) => new Error(`refused ${i}`)));
  // The subscription succeeds at last, so what was missed is looked for once more, and the ringing ends.
  await channels.confirm();
  expect(rings).toEqual([false, false, false, true]);
  await time.pass(60_000);
  expect(rings).toHaveLength(4);
});

it('does not keep the process from its end while it waits for the next try', async () => {
  const { channels, bell } = open();
  bell.listen();
  channels.last.reply.reject(new Error('refused'));
  await turn();
  expect(time.running).toHaveLength(1);
  expect(time.keepsProcess).toBe(false);
});

it('a loss of the subscription rings, and the next listen subscribes again', async () => {
  const { channels, rings, bell } = open();
  bell.listen();
  await channels.confirm();
  channels.last.notify();
  bell.listen();
  await channels.confirm();
  expect(rings).toEqual([true, false, true]);
});

describe('close', () => {
  it('stops to listen, for good', async () => {
    const { channels, rings, bell } = open();
    bell.listen();
    await channels.confirm();
    bell.close();
    expect(channels.stopped).toBe(1);
    bell.listen();
    expect(channels.calls).toHaveLength(1);
    expect(rings).toEqual([true]);
  });

  it('stops to listen when the subscription begins after it', async () => {
    const { channels, rings, bell } = open();
    bell.listen();
    bell.close();
    await channels.confirm();
    expect(channels.stopped).toBe(1);
    expect(rings).toEqual([]);
  });

  it('ends the wait for the next try, and a failure after it is not reported', async () => {
    const first = open();
    first.bell.listen();
    first.channels.last.reply.reject(new Error('refused'));
    await turn();
    first.bell.close();
    expect(time.running).toEqual([]);
    const second = open();
    second.bell.listen();
    second.bell.close();
    second.channels.last.reply.reject(new Error('refused'));
    await turn();
    expect(second.errors).toEqual([]);
    expect(time.running).toEqual([]);
  });
});
