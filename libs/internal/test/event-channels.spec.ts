import { channel, subscribe, unsubscribe } from 'node:diagnostics_channel';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';

setFlagsFromString('--expose-gc');
const collectGarbage = runInNewContext('gc') as () => void;
const NAME = 'luanest:internal-test:event-channels';

/** Loads the module again, as Jest does for each test file. */
function publisher(): { publish: (make: () => unknown) => void } {
  let made: { publish: (make: () => unknown) => void } | undefined;
  jest.isolateModules(() => {
    const { EventChannel } = jest.requireActual<typeof import('../src/event-channels')>('../src/event-channels');
    made = new EventChannel(NAME);
  });
  return made as NonNullable<typeof made>;
}

const aTurn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

it('publishes to a later subscriber when the module was loaded again, and its earlier channel was garbage', async () => {
  let lost = 0;
  for (let round = 0; round < 20; round++) {
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

it('uses the channel that others have under its name', () => {
  const received: unknown[] = [];
  const held = channel(NAME);
  const listener = (event: unknown): void => void received.push(event);
  held.subscribe(listener);
  publisher().publish(() => 'event');
  held.unsubscribe(listener);
  publisher().publish(() => 'unseen');
  expect(received).toEqual(['event']);
});
