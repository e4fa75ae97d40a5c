import type { ScriptRegistry } from 'luanest/script-registry';
import { events } from '../lock.events';

/** A sleep that can be ended early. */
export class Sleeper {
  private woken = false;
  private wake: (() => void) | undefined;

  /** Sleeps for at most `ms`; not at all if it was woken since the last sleep. */
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

  /** Ends the present or the next sleep. */
  ring(): void {
    this.woken = true;
    this.wake?.();
  }
}

// See DECISIONS.md: releases-wake-by-sharded-channel
/** Listens to the releases of one lock. */
export class Releases {
  private stop: (() => void) | undefined;
  private opening: Promise<void> | undefined;
  private closed = false;

  constructor(
    private readonly registry: ScriptRegistry,
    private readonly name: string,
    private readonly key: string,
    private readonly released: () => void,
  ) {}

  /** Returns true while releases are listened to; without that, waiting is by polling alone. */
  get listening(): boolean {
    return this.stop !== undefined;
  }

  /**
   * Listens, also again where the connection was lost; that costs nothing where it was not. Returns after `timeoutMs` at the
   * latest: what takes longer goes on, and then counts as a release, since one may have been missed.
   */
  async listen(timeoutMs: number): Promise<void> {
    let late = false;
    this.opening ??= this.open().then((opened) => {
      this.opening = undefined;
      if (late && opened) this.released();
    });
    let timer: NodeJS.Timeout | undefined;
    await Promise.race([this.opening, new Promise<void>((resolve) => (timer = setTimeout(resolve, timeoutMs)))]);
    clearTimeout(timer);
    late = true;
  }

  close(): void {
    this.closed = true;
    this.drop();
  }

  private drop(): void {
    this.stop?.();
    this.stop = undefined;
  }

  private async open(): Promise<boolean> {
    let current = true;
    try {
      const stop = await this.registry.listen(this.key, () => {
        if (current) this.released();
      });
      this.stop?.();
      this.stop = () => {
        current = false;
        stop();
      };
      if (this.closed) this.drop();
      return !this.closed;
    } catch (error) {
      this.drop();
      events.callFailed.publish(() => ({ name: this.name, during: 'subscribe', error }));
      return false;
    }
  }
}
