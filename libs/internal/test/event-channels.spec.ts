import { channel, subscribe, unsubscribe } from 'node:diagnostics_channel';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { size } from '../../../test/support/size';
import { EventChannel, originOf, subscribeTo } from '../src/event-channels';

setFlagsFromString('--expose-gc');
const collectGarbage = runInNewContext('gc') as () => void;
const NAME = 'luanest:internal-test:event-channels';

/** Loads the module again, as Jest does for each test file. */
function publisher(name = NAME): { publish: (make: () => object) => void } {
  let made: { publish: (make: () => object) => void } | undefined;
  jest.isolateModules(() => {
    const again = jest.requireActual<typeof import('../src/event-channels')>('../src/event-channels');
    made = new again.EventChannel(name);
  });
  return made as NonNullable<typeof made>;
}

const aTurn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

it('publishes to a later subscriber when the module was loaded again, and its earlier channel was garbage', async () => {
  let lost = 0;
  for (let round = 0; round < size(1, 20); round++) {
    publisher();
    await aTurn();
    collectGarbage();
    const current = publisher();
    // Node forgets channels that are garbage in a later turn of the event loop.
    await aTurn();
    await aTurn();
    let received = 0;
    const listener = (): void => void (received += 1);
    subscribe(NAME, listener);
    current.publish(() => ({}));
    unsubscribe(NAME, listener);
    if (received === 0) lost += 1;
  }
  expect(lost).toBe(0);
});

it('publishes to a later subscriber when the channel was subscribed to before the module was loaded', async () => {
  const listener = (): void => undefined;
  let lost = 0;
  for (let round = 0; round < size(1, 20); round++) {
    const name = `${NAME}:${round}`;
    // As the modules of an app do that have no module for this channel.
    subscribeTo(name, listener)();
    await aTurn();
    collectGarbage();
    const current = publisher(name);
    await aTurn();
    await aTurn();
    let received = 0;
    const end = subscribeTo(name, () => (received += 1));
    current.publish(() => ({}));
    end();
    if (received === 0) lost += 1;
  }
  expect(lost).toBe(0);
});

it('uses the channel that others have under its name', () => {
  const event = {};
  const received: unknown[] = [];
  const held = channel(NAME);
  const listener = (event: unknown): void => void received.push(event);
  held.subscribe(listener);
  publisher().publish(() => event);
  held.unsubscribe(listener);
  publisher().publish(() => ({}));
  expect(received).toEqual([event]);
});

it('names the origin of an event, without a trace in the event', () => {
  const registry = {};
  const received: object[] = [];
  const listener = (event: unknown): void => void received.push(event as object);
  subscribe(NAME, listener);
  const events = new EventChannel<object>(NAME);
  events.publish(() => ({ n: 1 }), registry);
  events.publish(() => ({ n: 2 }));
  unsubscribe(NAME, listener);
  expect(received).toStrictEqual([{ n: 1 }, { n: 2 }]);
  expect(received.map(originOf)).toEqual([registry, undefined]);
});
