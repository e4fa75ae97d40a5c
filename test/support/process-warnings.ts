import { runInThisContext } from 'node:vm';

/** Jest gives tests a copy of `process`. Node emits warnings on the real one. */
const realProcess = runInThisContext('process') as NodeJS.Process;

/** Collects the texts of the warnings that Node emits, such as `MaxListenersExceededWarning`, until `stop`. */
export function processWarnings(): { readonly texts: readonly string[]; stop(): Promise<void> } {
  const texts: string[] = [];
  const listener = ({ name, message }: Error): void => void texts.push(`${name}: ${message}`);
  realProcess.on('warning', listener);
  return {
    texts,
    async stop() {
      // Node emits a warning one tick after its cause.
      await new Promise((resolve) => setImmediate(resolve));
      realProcess.off('warning', listener);
    },
  };
}
