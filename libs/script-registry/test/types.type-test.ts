// Compiled, never run: each `@ts-expect-error` fails the type check when the line below it compiles.
import { defineScript, int, list, str, type ScriptRegistry } from 'luanest/script-registry';

declare const registry: ScriptRegistry;

const consume = defineScript({
  name: 'types.consume',
  keys: ['counter', 'others[]'],
  args: { limit: int, label: str, costs: list(int) },
  source: 'return { 1 }',
  reply: ([used]: number[]) => ({ used }),
});

const good = { keys: { counter: 'a', others: ['b'] }, args: { limit: 1, label: 'x', costs: [1] } };

export async function compiles(): Promise<number | undefined> {
  const { used } = await registry.run(consume, good);
  const { result, replicas } = await registry.runAndWait(consume, good, { replicas: 1, timeoutMs: 10 });
  return used ?? result.used ?? replicas;
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
  // @ts-expect-error an argument type that is none
  defineScript({ name: 'types.bad', keys: ['k'], args: { a: 'int' }, source: text, reply: (raw: number) => raw });
}
