import type { ScriptRegistry } from 'luanest/script-registry';
import { idleChecksOf } from '../../libs/internal/src';

/** Makes all idle checks periodically, which otherwise wait for minutes. @returns a function that ends this */
export function watch(registry: ScriptRegistry, everyMs: number): () => void {
  let timer: NodeJS.Timeout | undefined;
  let stopped = false;
  const next = (): void => {
    if (!stopped) timer = setTimeout(() => void idleChecksOf(registry).checkAll().finally(next), everyMs);
  };
  next();
  return () => {
    stopped = true;
    clearTimeout(timer);
  };
}
