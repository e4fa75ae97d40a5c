import { Redis } from 'ioredis';
import { startFaultProxy, startRedis, type FaultProxy, type RedisServer } from 'luanest/testing/servers';
import { describeResending } from '../../../test/support/client-kind';
import { recordFully, recordRead } from '../src/read-reward.scripts';
import { DAY_MS, openBench, quiet, type Bench } from './support';

describeResending('a reply that is lost, after which the client sends again', () => {
  let server: RedisServer;
  let proxy: FaultProxy;
  let bench: Bench;

  beforeAll(async () => {
    server = await startRedis();
    proxy = await startFaultProxy(server);
    bench = await openBench(quiet(new Redis(proxy.port)), { prefix: 'lost' });
  });
  afterAll(async () => {
    bench.close();
    await proxy.stop();
    await server.stop();
  });

  async function cutting<T>(work: () => Promise<T>): Promise<T> {
    const cut = proxy.dropReply({ when: (request) => /evalsha/i.test(request) });
    const result = await work();
    await cut;
    return result;
  }

  const rules = { read: { limit: 5, pointsPerItem: 2 }, ever: { limit: 5, dedupe: 'ever' as const } };
  const open = () => bench.service(rules, { ledgerRetentionMs: 86_400_000, partitions: 1 });
  const rows = async () => bench.raw.xlen(open().ledgerKeys()[0] as string);

  it.each([
    ['of a record', 'read', undefined],
    ['of a record with an operation id', 'read', 'op-1'],
    ['of a record with dedupe ever', 'ever', undefined],
  ])('%s: the first answer, a single effect', async (name, rule, operationId) => {
    const before = await rows();
    const answer = await cutting(() => open().record({ rule, userId: name, itemId: 'a', operationId }));
    expect(answer).toMatchObject({ status: 'rewarded', used: 1, remaining: 4, grantId: expect.any(String) });
    expect(await rows()).toBe(before + 1);
    expect((await open().status(name)).find((status) => status.rule === rule)).toMatchObject({ used: 1 });
  });

  it('of a record without a ledger: the first answer, also from the script that follows when a TTL was lost', async () => {
    const service = bench.service({ plain: { limit: 5, pointsPerItem: 2 } }, { partitions: 1 });
    const record = (itemId: string) => service.record({ rule: 'plain', userId: 'u', itemId });
    const refunded = await record('a');
    await service.refund(refunded.grantId as string);
    const first = { status: 'rewarded', points: 2, used: 1, remaining: 4 };
    const answer = await cutting(() => record('b'));
    expect(answer).toMatchObject(first);
    expect(answer.grantId).toMatch(/:2:u:b$/);
    expect(await record('b')).toMatchObject({ status: 'duplicate', used: 1 });

    const key = bench.registry.keySpace('read-reward').tag('s0').key('state', 'plain', 'u');
    const grant = (await bench.raw.hget(key, 'b')) as string;
    const [head = ''] = await bench.raw.hmget(key, '');
    const args = { itemId: 'b', grant: grant.split(':').slice(2).join(':'), limit: 5, gap: DAY_MS };
    const current = `${head?.split(':').slice(0, 4).join(':')}:`;
    const resend = () => bench.registry.run(recordRead, { keys: { state: key }, args: { ...args, current } });
    expect(await resend()).toEqual({ status: 1, used: 1, seq: 2 });
    await bench.raw.persist(key);
    expect(await resend()).toMatchObject({ status: 0 });
    const [, , token = ''] = args.grant.split(':');
    const [from = 0, to = 0, after = 0] = (head ?? '').split(':').map(Number);
    const rule = ['5:2:0:0', from - DAY_MS, from, to, after, after + DAY_MS].join(':');
    const none = { everMs: 0, answerMs: 0, ledgerMs: 0, name: '', userId: '' };
    const again = await bench.registry.run(recordFully, {
      keys: { state: key, ever: key, answer: key, ledger: key },
      args: { itemId: 'b', token, rule, ...none },
    });
    expect(again).toMatchObject({ ...first, seq: 2, itemId: 'b' });
    expect(await record('c')).toMatchObject({ status: 'rewarded', used: 2 });
    expect(await bench.raw.pexpiretime(key)).toBe(after);
  });

  it('of a whole group of records: everyone is rewarded once', async () => {
    const before = await rows();
    const users = Array.from({ length: 50 }, (_, i) => `g${i}`);
    const service = open();
    const answers = await cutting(() =>
      Promise.all(users.map((userId) => service.record({ rule: 'read', userId, itemId: 'a' }))),
    );
    expect(answers.map(({ status }) => status)).toEqual(users.map(() => 'rewarded'));
    expect(await rows()).toBe(before + 50);
  });

  it('of a refund: refunded, once, by the answer of the first run', async () => {
    const service = open();
    const { grantId } = await service.record({ rule: 'read', userId: 'r', itemId: 'a' });
    await service.record({ rule: 'read', userId: 'r', itemId: 'b' });
    const before = await rows();
    expect(await cutting(() => service.refund(grantId as string))).toEqual({ status: 'refunded', points: 2, used: 1 });
    expect(await rows()).toBe(before + 1);
    expect(await service.refund(grantId as string)).toMatchObject({ status: 'already-refunded' });
  });
});
