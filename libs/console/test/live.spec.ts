import { once } from 'node:events';
import { get, type IncomingMessage } from 'node:http';
import { CommandWatcher } from '../../../test/support/command-watcher';
import { eventually } from '../../../test/support/wait';
import { replaceTime, time, type TimeSource } from '../../internal/src';
import { ANN, DROP_ONE, get as fetched, openConsole, platforms, post, type ConsoleApp } from './support';

/** Timers of the libs, which the test ends. */
class Timers {
  readonly waiting = new Map<object, { readonly callback: () => void; readonly ms: number }>();
  private readonly restore: () => void;

  constructor() {
    const real = { ...time };
    const setTimer: TimeSource['setTimer'] = (callback, ms) => {
      const timer = { unref: () => timer };
      this.waiting.set(timer, { callback, ms });
      return timer;
    };
    const clearTimer: TimeSource['clearTimer'] = (timer) => void (timer && this.waiting.delete(timer));
    this.restore = replaceTime({ ...real, setTimer, clearTimer });
  }

  of(ms: number): (() => void)[] {
    return [...this.waiting.values()].filter((timer) => timer.ms === ms).map(({ callback }) => callback);
  }

  /** Ends all timers of this length. */
  end(ms: number): void {
    const due = [...this.waiting].filter(([, timer]) => timer.ms === ms);
    for (const [timer, { callback }] of due) {
      this.waiting.delete(timer);
      callback();
    }
  }

  close(): void {
    this.restore();
  }
}

/** A viewer of the stream. `fetch` would connect again after it left, and keep the app from closing. */
class Viewer {
  text = '';
  ended = false;

  private constructor(readonly response: IncomingMessage) {
    response.setEncoding('utf8').on('data', (text: string) => (this.text += text));
    response.on('error', () => undefined).on('close', () => (this.ended = true));
  }

  static async open(url: string): Promise<Viewer> {
    const [response] = (await once(get(`${url}/api/live`, { headers: ANN, agent: false }), 'response')) as [
      IncomingMessage,
    ];
    return new Viewer(response);
  }

  /** Events of a name, as their data. */
  events(name: string): unknown[] {
    return [...this.text.matchAll(new RegExp(`^event: ${name}\ndata: (.*)$`, 'gm'))].map(
      ([, data = '']) => JSON.parse(data) as unknown,
    );
  }

  leave(): void {
    this.response.destroy();
  }
}

let timers: Timers;
beforeEach(() => (timers = new Timers()));
afterEach(() => timers.close());

describe.each(platforms)('the live overview on %s', (_name, adapter) => {
  let app: ConsoleApp;
  let url: string;
  beforeEach(async () => {
    app = await openConsole({ adapter: adapter() });
    url = `${app.url}/console`;
  });
  afterEach(() => app.close());

  /** Number of commands that Redis has run for this app. */
  async function commands(work: () => Promise<void>): Promise<string[]> {
    const watcher = await CommandWatcher.open(app.client.options.port as number);
    const seen = (): string[] =>
      watcher.commands
        .filter(({ from, args }) => from !== 'lua' && args.some((arg) => arg.includes(app.prefix)))
        .map(({ args }) => String(args[0]).toLowerCase());
    try {
      await work();
      // What was sent before this marker has been seen when the marker is.
      await app.client.get(`${app.prefix}:end`);
      await eventually(() => expect(seen().at(-1)).toBe('get'));
      return seen().slice(0, -1);
    } finally {
      watcher.close();
    }
  }

  it('makes one read for all viewers, and none while nobody looks', async () => {
    const idle = await commands(async () => {
      await fetched(`${url}/`);
      await fetched(`${url}/assets/console.js`);
      expect(timers.of(2_000)).toHaveLength(0);
    });
    expect(idle).toEqual([]);

    const viewers: Viewer[] = [];
    const watched = await commands(async () => {
      for (let i = 0; i < 5; i++) viewers.push(await Viewer.open(url));
      expect(viewers[0]?.response.headers['content-type']).toBe('text/event-stream; charset=utf-8');
      expect(viewers[0]?.response.headers['cache-control']).toBe('no-store, no-transform');
      expect(viewers[0]?.response.headers['x-content-type-options']).toBe('nosniff');
      await eventually(() => viewers.map((viewer) => expect(viewer.events('overview')).toHaveLength(1)));
      expect(app.things.summaries).toBe(1);
      await eventually(() => expect(timers.of(2_000)).toHaveLength(1));
      timers.end(2_000);
      await eventually(() => viewers.map((viewer) => expect(viewer.events('overview')).toHaveLength(2)));
      expect(app.things.summaries).toBe(2);
    });
    // The section of the test is in its memory, so what is left is the log of actions.
    expect(watched).toEqual(['evalsha', 'evalsha']);
    expect(viewers[4]?.events('overview').at(-1)).toMatchObject({
      sections: [{ name: 'things', summary: { figures: [{ value: 3 }] } }],
    });

    const left = await commands(async () => {
      await eventually(() => expect(timers.of(2_000)).toHaveLength(1));
      for (const viewer of viewers) viewer.leave();
      await eventually(() => expect(timers.waiting.size).toBe(0));
      timers.end(2_000);
    });
    expect(left).toEqual([]);
    expect(app.things.summaries).toBe(2);
  });

  it('reports changes of this process at once, and those of another at the next read, once', async () => {
    const viewer = await Viewer.open(url);
    await eventually(() => expect(timers.of(2_000)).toHaveLength(1));
    expect((await post(url, 'act', DROP_ONE)).status).toBe(200);
    await eventually(() => expect(viewer.events('changed')).toEqual([{ section: 'things' }]));
    const nextRead = async (): Promise<void> => {
      await eventually(() => expect(timers.of(2_000)).toHaveLength(1));
      const { summaries } = app.things;
      timers.end(2_000);
      await eventually(() => expect(viewer.events('overview')).toHaveLength(summaries + 1));
    };
    await nextRead();
    const other = await openConsole({ prefix: app.prefix });
    expect((await post(`${other.url}/console`, 'act', DROP_ONE)).status).toBe(200);
    await other.close();
    await nextRead();
    await eventually(() => expect(viewer.events('changed')).toEqual([{ section: 'things' }, {}]));
    await nextRead();
    expect(viewer.events('changed')).toHaveLength(2);
    viewer.leave();
  });

  it('shows which section could not be read, and goes on', async () => {
    await fetched(`${url}/api/me`);
    app.things.error = new Error('Redis is loading.');
    const viewer = await Viewer.open(url);
    const failed = { sections: [{ name: 'things', failed: 'Redis is loading.' }] };
    await eventually(() => expect(viewer.events('overview')).toEqual([expect.objectContaining(failed)]));
    app.things.error = undefined;
    await eventually(() => expect(timers.of(2_000)).toHaveLength(1));
    timers.end(2_000);
    await eventually(() => expect(viewer.events('overview')).toHaveLength(2));
    expect(viewer.events('overview').at(-1)).toMatchObject({ sections: [{ summary: {} }] });
    viewer.leave();
  });

  it('ends each stream after five minutes, and all of them when the app closes', async () => {
    const first = await Viewer.open(url);
    await eventually(() => expect(first.events('overview')).toHaveLength(1));
    timers.end(300_000);
    await eventually(() => expect(first.ended).toBe(true));
    const second = await Viewer.open(url);
    await eventually(() => expect(second.events('overview')).toHaveLength(1));
    await app.app.close();
    await eventually(() => expect(second.ended).toBe(true));
    expect(timers.waiting.size).toBe(0);
  });
});
