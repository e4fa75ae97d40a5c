import type { ScriptRegistry } from 'luanest/script-registry';
import { events } from '../lock.events';

/** Sleeps of one waiter, ended early by a release. */
export class Waiting {
  private stop: (() => void) | undefined;
  private woken = false;
  private wake: (() => void) | undefined;

  constructor(
    private readonly registry: ScriptRegistry,
    private readonly name: string,
    private readonly key: string,
  ) {}

  /** Listens for releases; without, waiting is by polling alone. True when it was not listening before. */
  async listen(timeoutMs: number): Promise<boolean> {
    if (this.stop) return false;
    let late = false;
    let timer: NodeJS.Timeout | undefined;
    const listening = this.registry
      .listen(this.key, () => this.ring())
      .then((stop) => {
        if (late) stop();
        else this.stop = stop;
      });
    const timeout = new Promise<void>((resolve) => (timer = setTimeout(resolve, timeoutMs)));
    try {
      await Promise.race([listening, timeout]);
    } catch (error) {
      events.error.publish(() => ({ name: this.name, during: 'subscribe', error }));
    } finally {
      clearTimeout(timer);
      late = this.stop === undefined;
      listening.catch(() => undefined);
    }
    return this.stop !== undefined;
  }

  /** Sleeps for at most `ms`. */
  async sleep(ms: number): Promise<void> {
    if (!this.woken) {
      await new Promise<void>((resolve) => {
        const timer = setTimeout(resolve, ms);
        this.wake = () => {
          clearTimeout(timer);
          resolve();
        };
      });
    }
    this.woken = false;
    this.wake = undefined;
  }

  /** Ends the present or next sleep. */
  ring(): void {
    this.woken = true;
    this.wake?.();
  }

  close(): void {
    this.stop?.();
    this.stop = undefined;
  }
}
