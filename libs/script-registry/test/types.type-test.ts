// Compiled, never run: each `@ts-expect-error` fails the type check when the line below it compiles.
import { bytes, defineScript, int, list, str, type ScriptRegistry } from 'luanest/script-registry';
import type { BytesReply } from '../src/script-definition';

declare const registry: ScriptRegistry;

const consume = defineScript({
  name: 'types.consume',
  keys: ['counter', 'others[]'],
  args: { limit: int, label: str, costs: list(int) },
  source: 'return { 1 }',
  reply: ([used]: number[]) => ({ used }),
});

const fetch = defineScript({
  name: 'types.fetch',
  keys: ['k'],
  args: { value: bytes },
  source: 'return { 1, ARGV[1] }',
  replyBytes: true,
  reply: ([found, value]: [number, Buffer?]) => (found === 1 ? value : undefined),
});

export const anyBytes = defineScript({
  name: 'types.any-bytes',
  keys: ['k'],
  args: {},
  source: 'return 1',
  replyBytes: true,
  reply: (raw: BytesReply) => raw,
});

const good = { keys: { counter: 'a', others: ['b'] }, args: { limit: 1, label: 'x', costs: [1] } };

export async function compiles(): Promise<number | undefined> {
  const { used } = await registry.run(consume, good);
  const { result, replicas } = await registry.runAndWait(consume, good, { replicas: 1, timeoutMs: 10 });
  const value: Buffer | undefined = await registry.run(fetch, { keys: { k: 'a' }, args: { value: Buffer.from('a') } });
  return used ?? result.used ?? replicas + (value?.length ?? 0);
}

export async function doesNotCompile(): Promise<void> {
  // @ts-expect-error a key is missing
  await registry.run(consume, { ...good, keys: { counter: 'a' } });
  // @ts-expect-error a key is a number
  await registry.run(consume, { ...good, keys: { counter: 1, others: [] } });
  // @ts-expect-error a list of keys is a string
  await registry.run(consume, { ...good, keys: { counter: 'a', others: 'b' } });
  // @ts-expect-error a key that is not declared
  await registry.run(consume, { args: good.args, keys: { counter: 'a', others: [], third: 'c' } });
  // @ts-expect-error an int is a string
  await registry.run(consume, { ...good, args: { limit: '1', label: 'x', costs: [1] } });
  // @ts-expect-error a str is a number
  await registry.run(consume, { ...good, args: { limit: 1, label: 2, costs: [1] } });
  // @ts-expect-error a list of int holds a string
  await registry.run(consume, { ...good, args: { limit: 1, label: 'x', costs: ['1'] } });
  // @ts-expect-error an argument is missing
  await registry.run(consume, { ...good, args: { limit: 1, label: 'x' } });
  // @ts-expect-error the reply has no such field
  const { allowed } = await registry.run(consume, good);
  String(allowed);
  // @ts-expect-error the reply's field is a number
  const text: string = (await registry.run(consume, good)).used;
  // @ts-expect-error no replicas to wait for
  await registry.runAndWait(consume, good, { timeoutMs: 10 });
  // @ts-expect-error not an argument type
  defineScript({ name: 'types.bad', keys: ['k'], args: { a: 'int' }, source: text, reply: (raw: number) => raw });
  const base = { keys: ['k'], args: { value: bytes }, source: text } as const;
  // @ts-expect-error bytes are a string
  await registry.run(fetch, { keys: { k: 'a' }, args: { value: 'text' } });
  // @ts-expect-error `reply` gets only the reply
  defineScript({ ...base, name: 'types.time', reply: (raw: number, atUs: number) => raw + atUs });
  // @ts-expect-error a script has no part `shared`
  defineScript({ ...base, name: 'types.shared', shared: text, reply: (raw: number) => raw });
  // @ts-expect-error strings of the reply are Buffers
  defineScript({ ...base, name: 'types.bytes', replyBytes: true, reply: ([found]: [string]) => found });
  // @ts-expect-error Buffers need replyBytes
  defineScript({ ...base, name: 'types.text', reply: (raw: Buffer) => raw });
}
