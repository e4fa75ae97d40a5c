import type { AnyScript } from 'luanest/script-registry';
import { Call } from '../src/group/call';

/** A call, and what it was settled with. */
export function callOf(definition: AnyScript, wait?: { replicas: number; timeoutMs: number }) {
  const settled: unknown[] = [];
  const call = new Call(
    definition,
    0,
    wait,
    (result) => settled.push(result),
    (error) => settled.push(error),
  );
  return { call, settled };
}
