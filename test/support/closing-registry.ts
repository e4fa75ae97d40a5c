import type { ScriptRegistry } from 'luanest/script-registry';

type Run = (script: { readonly name: string }, ...rest: unknown[]) => Promise<unknown>;

/**
 * Lets a registry make one call at a time, and closes it when a script has run this often. So the next call of any script is not
 * sent, as at the shutdown of an app.
 */
export function closeAfter(registry: ScriptRegistry, script: string, runs: number): void {
  const run = registry.run.bind(registry) as unknown as Run;
  let left = runs;
  let last: Promise<unknown> = Promise.resolve();
  const inTurn: Run = (called, ...rest) => {
    const reply = last.then(() => run(called, ...rest));
    last = reply.then(
      () => {
        if (called.name === script && --left === 0) registry.close();
      },
      () => undefined,
    );
    return reply;
  };
  registry.run = inTurn as unknown as typeof registry.run;
}
