import { Redis } from 'ioredis';
import { startRedis } from 'luanest/testing/servers';
import { CommandWatcher, type WatchedCommand } from './command-watcher';
import { eventually } from './wait';

it('reports each command, its connection, and the commands of scripts', async () => {
  const server = await startRedis();
  const client = new Redis(server.url);
  await client.ping();
  // Under traffic of others, which ioredis' own monitor does not bear.
  let busy = true;
  const other = new Redis(server.url);
  const traffic = (async () => {
    while (busy) await other.get('noise');
  })();
  const watcher = await CommandWatcher.open(server.port);
  try {
    const odd = 'a "quoted" \\ line\r\n\t\x00 \\x41 end';
    await client.set('odd', odd);
    await client.eval("return redis.call('GET', KEYS[1])", 1, 'odd');
    await eventually(() => {
      const mine = watcher.commands.filter(({ args }) => args.includes('odd'));
      expect(mine.map(({ args }) => args)).toEqual([
        ['set', 'odd', odd],
        ['eval', "return redis.call('GET', KEYS[1])", '1', 'odd'],
        ['GET', 'odd'],
      ]);
      expect(mine.map(({ from }) => from)).toEqual([expect.stringMatching(/:\d+$/), mine[0]?.from, 'lua']);
    });
    const isNoise = ({ args }: WatchedCommand): boolean => args.includes('noise');
    await eventually(() => expect(watcher.commands.some(isNoise)).toBe(true));
    expect(watcher.sentBesides('odd').some(isNoise)).toBe(false);
    watcher.clear();
    expect(watcher.commands).toEqual([]);
  } finally {
    busy = false;
    await traffic;
    watcher.close();
    client.disconnect();
    other.disconnect();
    await server.stop();
  }
});
