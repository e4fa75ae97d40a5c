/** Longest that the event loop is kept awake for one call, ms. A Redis that is further away is slept for. */
const LONGEST_MS = 0.15;
/** Every so many lone calls one is awaited in the way that seemed slower. */
const PROBE_EVERY = 64;
/** Keeping awake must be faster by so much to be worth its CPU time. */
const GAIN = 0.9;

/**
 * Keeps the event loop awake while a lone call is out, where that gets answers sooner: to put a process to sleep and to
 * wake it may cost more than a Redis close by takes to answer. The loop turns as ever, other work goes on. Both ways
 * are timed, so the loop sleeps where Redis is far away or needs the same core.
 * See DECISIONS.md: lone-call-may-spin
 */
export class PromptAnswers {
  private out = 0;
  private calls = 0;
  private turning = false;
  /** How the lone call that is out is awaited; undefined when it has company. */
  private awake: boolean | undefined;
  private sentAt = 0;
  private awakeMs = 0;
  private asleepMs = 0;

  /** @param enabled false never keeps the loop awake */
  constructor(private readonly enabled: boolean) {}

  /** Takes note of a call that was just sent; answers its answer. */
  watch<T>(answer: Promise<T>): Promise<T> {
    if (!this.enabled) return answer;
    this.out += 1;
    if (this.out === 1) this.begin();
    else this.awake = undefined;
    answer.then(this.answered, this.answered);
    return answer;
  }

  private begin(): void {
    this.sentAt = performance.now();
    this.awake = this.awakeMs < GAIN * this.asleepMs;
    this.calls += 1;
    if (this.calls % PROBE_EVERY === 0) this.awake = !this.awake;
    if (!this.awake || this.turning) return;
    this.turning = true;
    setImmediate(this.turn);
  }

  private readonly answered = (): void => {
    this.out -= 1;
    if (this.awake === undefined) return;
    // One pause of the process must not decide for long; beyond the longest, both ways are the same.
    const tookMs = Math.min(performance.now() - this.sentAt, LONGEST_MS);
    if (this.awake) this.awakeMs += (tookMs - this.awakeMs) / 4;
    else this.asleepMs += (tookMs - this.asleepMs) / 4;
    this.awake = undefined;
  };

  private readonly turn = (): void => {
    this.turning = this.awake === true && performance.now() - this.sentAt < LONGEST_MS;
    if (this.turning) setImmediate(this.turn);
  };
}
