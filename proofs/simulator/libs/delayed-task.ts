import type { ModuleMetadata } from '@nestjs/common';
import type * as Tasks from '../../../libs/delayed-task/src';
import { Owners, type Owner } from '../engine/owners';
import type { Fault } from '../engine/plan';
import type { Process } from '../engine/process';
import type { Member } from '../engine/member';
import { nameOfScript } from '../engine/replays';
import type { Lib, Model, World } from '../engine/world';
import type { Reply } from '../../../libs/memory-redis/src/reply';
import { codeOf } from './codes';
import { takes, work, type Operation, type Payload, type Settings, type Task } from './delayed-task-work';

/** Time after which a task is dead-lettered that no worker knows, ms. See `engine/loader`. */
const UNKNOWN_MS = 3_000;

/** Shortest lease in which a few calls that fail are repeated, ms. */
const LONG_LEASE_MS = 1_500;

/** A handler that runs, or whose outcome is not known yet. */
interface Running {
  readonly task: Task;
  readonly process: Process;
  events: number;
  /** True if the handler returned after its signal had fired, which may have been in time. */
  late: boolean;
}

/** Checks the promises of the README of delayed-task. */
class TaskModel implements Model<Operation> {
  private readonly owners: Owners;
  private readonly tasks: Task[] = [];
  /** By process, id and number of the attempt; several if the task was replaced meanwhile. */
  private readonly running = new Map<string, Running[]>();
  private readonly busy = new Map<Process, number>();
  private readonly endlessIds = new Set<string>();
  /** Ids whose running attempt a call may have ended, so that the next one overlaps with it. */
  private readonly cutShort = new Set<string>();
  /** How many calls in flight replace the task of an id. */
  private readonly replacing = new Map<string, number>();
  /** Calls of `cancel` in flight. Those of a process that dies may take effect. */
  private readonly cancelling = new Set<{ readonly process: Process; readonly id: string }>();
  /** Ids whose tasks a call may have moved. */
  private readonly moving = new Set<string>();
  /** How many calls replay or drop dead letters now, or may do so later, because their outcome is unknown. */
  private replaying = 0;
  /** When Redis has stored last that an attempt of an id has failed. */
  private readonly failedUs = new Map<string, number>();
  /** Leases that have ended so. */
  private readonly failures = new Set<string>();
  private dropping = 0;
  /** How long Redis was down so far, in all, ms. */
  private downMs = 0;
  private clockWasSet = false;
  private lostKeys = false;
  /** True once Redis may get a call after the one that repeats it: it may take a task that nobody then begins. */
  private hadLateCall = false;
  /** Name of the process that has taken tasks with a token; undefined if a late copy of the call may have taken them. */
  private readonly takers = new Map<string, string | undefined>();

  constructor(
    private readonly world: World,
    private readonly options: Settings,
  ) {
    this.owners = new Owners(world);
    for (const node of world.redis.nodes) {
      const { ran } = node;
      node.ran = (process, words, reply) => {
        ran(process, words, reply);
        const name = nameOfScript(words[1] ?? '');
        if (name === 'take' && Array.isArray(reply)) this.taken(process, words, reply);
        if (name === 'fail' && reply === 'retried') this.hasFailed(words.slice(3 + Number(words[2])));
        const buries = Array.isArray(reply) && Number(reply[2]) > 0;
        if ((name === 'take' && buries) || name === 'fail' || name === 'sweep') this.seeDead();
      };
    }
  }

  app(member: Member): ModuleMetadata {
    const { DelayedTaskModule, DelayedTaskEvents } = member.load<typeof Tasks>('luanest/delayed-task');
    const { process } = member;
    process.channel(DelayedTaskEvents.attemptSettled).subscribe((event) => {
      this.settles(member, event as Tasks.DelayedTaskEvents['attemptSettled']);
    });
    process.channel(DelayedTaskEvents.tasksBuried).subscribe((event) => {
      for (const { id } of (event as Tasks.DelayedTaskEvents['tasksBuried']).tasks) this.buried(id);
    });
    process.channel(DelayedTaskEvents.callFailed).subscribe((event) => {
      this.world.expect(!this.world.isCalm, () => `nothing is wrong, but a call failed: ${JSON.stringify(event)}`);
    });
    const { leaseMs, partitions, concurrency, attempts, backoffMs, timeoutMs, drainMs } = this.options;
    const options = { leaseMs, partitions, concurrency, attempts, timeoutMs, drainMs };
    const { groupShare, groupWindowMs } = this.options;
    const groupLimits = {
      ...(groupShare > 0 && { concurrency: groupShare * partitions }),
      ...(groupWindowMs > 0 && { rate: { limit: 2 * partitions, windowMs: groupWindowMs } }),
    };
    const module = DelayedTaskModule.forRoot({
      ...options,
      ...(groupShare + groupWindowMs > 0 && { groupLimits }),
      abortGraceMs: 100,
      backoff: { delayMs: backoffMs, maxDelayMs: 4 * backoffMs },
    });
    return { imports: [module], providers: this.options.late ? [] : [this.handlers(member)] };
  }

  started(member: Member): void {
    if (!this.options.late) return;
    const { DelayedTaskService } = member.load<typeof Tasks>('luanest/delayed-task');
    const tasks = member.app?.get(DelayedTaskService) as Tasks.DelayedTaskService;
    for (const name of this.isStranger(member) ? ['a'] : ['a', 'b']) {
      tasks.handle(name, (payload: Payload, task) => this.handle(member, payload, task));
    }
  }

  disturbed(fault: Fault): void {
    if (fault.kind === 'kill') {
      const { process } = this.world.members[fault.p] as Member;
      for (const call of this.cancelling) if (call.process === process) this.endless([call.id]);
    }
    this.downMs += downMsOf(fault);
    if (fault.kind === 'cut' && fault.how === 'late') this.hadLateCall = true;
    if (fault.kind === 'redis-clock') {
      this.clockWasSet = true;
      this.owners.excuseClock();
    }
    if (fault.kind !== 'evict' && fault.kind !== 'failover') return;
    this.lostKeys = true;
    this.owners.excuse();
    for (const task of this.tasks) task.excused = true;
  }

  async perform(member: Member, operation: Operation): Promise<void> {
    const { DelayedTaskService } = member.load<typeof Tasks>('luanest/delayed-task');
    const tasks = member.app?.get(DelayedTaskService) as Tasks.DelayedTaskService;
    const { kind, ids, delayMs, evenRunning } = operation;
    const id = ids[0] as string;
    if (kind === 'schedule' || kind === 'many') return this.schedule(tasks, operation);
    if (kind === 'cancel') {
      const call = { process: member.process, id };
      this.cancelling.add(call);
      await this.cancel(tasks, id, evenRunning);
      return void this.cancelling.delete(call);
    }
    if (kind === 'reschedule') return this.reschedule(tasks, id, delayMs);
    if (kind === 'drop') {
      for (const task of ids.length > 1 ? this.tasks : this.of(ids)) task.mayBeDropped = true;
      this.dropping++;
      const result = await (ids.length > 1 ? tasks.dropAll() : tasks.drop(ids)).catch(codeOf);
      if (result !== 'UNKNOWN_OUTCOME') this.dropping--;
      return;
    }
    if (kind === 'replay') {
      for (const task of ids.length > 1 ? this.tasks : this.of(ids)) {
        task.replays++;
        task.dueMs = undefined;
      }
      const isAll = ids.length > 1;
      this.replaying++;
      const result = await (isAll ? tasks.replayAll() : tasks.replay(ids)).catch(codeOf);
      if (result !== 'UNKNOWN_OUTCOME') this.replaying--;
      return;
    }
    await tasks.get(id).catch(codeOf);
    await tasks.deadLetters({ limit: 2 }).catch(codeOf);
    await tasks.stats().catch(codeOf);
  }

  /** A worker that has closed has settled its tasks, or handed them back. */
  hasClosed({ process }: Member): void {
    const ended = [...this.running].filter(([key]) => key.startsWith(`${process.pid}:`));
    // Another process may have taken a task meanwhile, and begin its attempt only when the reply has come.
    const laterUs = this.world.nowUs + this.options.leaseMs * 500;
    this.world.scheduler.at(laterUs, () => ended.forEach(([key, all]) => this.expectNotLeased(process, key, all)));
  }

  private expectNotLeased({ name }: Process, key: string, attempts: readonly Running[]): void {
    const [, id = '', attempt] = key.split(':');
    if (!this.isGentle || attempts.some(({ task }) => task.excused)) return;
    if ([...this.running.keys()].some((other) => other !== key && other.endsWith(`:${id}:${attempt}`))) return;
    const runs = this.partitionKeys('runs').map((runs) => this.world.redis.memory.run('HGET', [runs, id]));
    const isLeased = runs.some((run) => {
      const [number, state = '', token = ''] = String(run).split(' ');
      return number === attempt && /^[la]$/.test(state) && this.takers.get(token) === name;
    });
    this.world.expect(!isLeased, () => `${name} has closed, and attempt ${attempt} of ${id} is still leased`);
  }

  left(): number {
    return (
      this.unsettled().length + this.counts().reduce((sum, [, { running, waiting }]) => sum + running + waiting, 0)
    );
  }

  settled(): void {
    const { world } = this;
    for (const { id, n, begun } of this.unsettled()) {
      world.violate(`task ${n} (${id}) is lost: begun ${begun} times, never done, no dead letter`);
    }
    if (this.tasks.some(({ excused }) => excused)) return;
    for (const [key, { running, waiting }] of this.counts()) {
      world.expect(running + waiting === 0, () => `${key} still has ${waiting} waiting and ${running} running tasks`);
    }
  }

  closed(): void {
    for (const [key, { task, process, events }] of [...this.running].flatMap(([id, all]) =>
      all.map((one) => [id, one] as const),
    )) {
      if (process !== this.world.members.find(({ name }) => name === process.name)?.process) continue;
      this.world.expect(events > 0 || !this.isGentle, () => `the attempt ${key} of task ${task.n} has no outcome`);
    }
  }

  lives(key: string): boolean {
    return /:(due|leased|dead|tasks|runs|lines|heads|places)$/.test(key);
  }

  private handlers(member: Member) {
    const { DelayedTask } = member.load<typeof Tasks>('luanest/delayed-task');
    const handle = (payload: Payload, task: Tasks.TaskContext): Promise<unknown> => this.handle(member, payload, task);
    class A {
      @DelayedTask('a')
      a(payload: Payload, task: Tasks.TaskContext): Promise<unknown> {
        return handle(payload, task);
      }
    }
    class Both extends A {
      @DelayedTask('b')
      b(payload: Payload, task: Tasks.TaskContext): Promise<unknown> {
        return handle(payload, task);
      }
    }
    return this.isStranger(member) ? A : Both;
  }

  private isStranger({ index }: Member): boolean {
    return this.options.hasStranger && index > 0 && index === this.world.members.length - 1;
  }

  private async schedule(tasks: Tasks.DelayedTaskService, operation: Operation): Promise<void> {
    const { ids, name, delayMs, onConflict, attempts, group } = operation;
    const replace = onConflict !== 'keep';
    if (onConflict === 'replace') for (const id of ids) this.cutShort.add(id);
    const some = ids.map((id) => this.newTask(id, operation.task));
    const replaces = (): void => {
      if (replace) for (const task of this.of(ids)) if (!some.includes(task)) task.mayBeGone = true;
    };
    replaces();
    // A call in flight may replace what is scheduled after it began. If its process dies, it stays in flight.
    for (const task of some) task.mayBeGone ||= (this.replacing.get(task.id) ?? 0) > 0;
    const inFlight = (by: number): void => {
      if (replace) for (const id of ids) this.replacing.set(id, (this.replacing.get(id) ?? 0) + by);
    };
    inFlight(1);
    const settings = { delayMs, ...(attempts !== undefined && { attempts }), ...(group !== undefined && { group }) };
    const beganUs = this.world.nowUs;
    const results = await tasks
      .scheduleMany(
        some.map(({ id, n, pieces, fails, ending, deaf }) => ({
          id,
          name,
          payload: { n, pieces, fails, ending, deaf },
          ...settings,
        })),
        { onConflict },
      )
      .catch(codeOf);
    inFlight(-1);
    replaces();
    // It may have run, or may run later.
    if (results === 'UNKNOWN_OUTCOME' && replace) this.endless(ids);
    if (typeof results === 'string') return;
    for (const [index, { status, runAtMs }] of results.entries()) {
      const task = some[index] as Task;
      this.world.note('check', () => `task ${task.n} (${task.id}) is ${status}`);
      task.undecided = false;
      if (status === 'kept') continue;
      task.promised = true;
      if (!this.moving.has(task.id)) task.dueMs = runAtMs;
      task.excused ||= this.owners.isExcused({ beganUs });
      const early = this.world.redis.nowMs - runAtMs;
      const isRight = early <= (this.world.nowUs - beganUs) / 1_000 + 2 - delayMs || this.clockWasSet;
      this.world.expect(isRight, () => `task ${task.n} is due ${early} ms ago, ${delayMs} ms after its call`);
    }
  }

  private async reschedule(tasks: Tasks.DelayedTaskService, id: string, delayMs: number): Promise<void> {
    // It may move any task of the id until its reply, and after an unknown outcome at any time.
    this.moving.add(id);
    for (const task of this.of([id])) task.dueMs = undefined;
    await tasks.reschedule(id, { delayMs }).catch(codeOf);
  }

  private async cancel(tasks: Tasks.DelayedTaskService, id: string, evenRunning: boolean): Promise<void> {
    const before = this.of([id]);
    const began = this.tasks.length;
    if (evenRunning) {
      this.cutShort.add(id);
      for (const task of before) task.mayBeGone = true;
    }
    const result = await tasks.cancel(id, { evenRunning }).catch(codeOf);
    this.world.note('check', () => `cancel of ${id}: ${result}`);
    if (result === 'running' || result === 'dead' || result === 'unknown' || result === 'NOT_SENT') return;
    for (const task of this.of([id])) task.mayBeGone = true;
    if (result === 'UNKNOWN_OUTCOME') this.endless([id]);
    const last = before.at(-1);
    // If the id had one task only, that one is cancelled.
    if (result !== 'cancelled' || evenRunning || before.length !== 1 || this.tasks.length !== began) return;
    if (last?.promised && !last.excused && !this.clockWasSet) last.cancelledUs = this.world.nowUs;
  }

  private async handle(member: Member, payload: Payload, context: Tasks.TaskContext): Promise<unknown> {
    const { world } = this;
    const { process } = member;
    const { id, attempt, attempts, runAtMs } = context;
    // The property looks at the clock.
    const isAborted = (): boolean => context.signal.aborted;
    const task = this.tasks[payload.n - 1] as Task;
    const began = ++task.begun;
    world.note(member.name, () => `attempt ${attempt} of task ${task.n} (${id}) begins`);
    world.expect(attempt <= attempts, () => `task ${task.n} has attempt ${attempt} of ${attempts}`);
    const earlyMs = Math.max(runAtMs, task.dueMs ?? 0) - world.redis.nowMs;
    // What is left of an older task with the same id, of which Redis has lost a part, may make this one due.
    const hasRemains = this.tasks.some((other) => other.id === id && other.excused);
    world.expect(earlyMs <= 0 || this.clockWasSet || hasRemains, () => `task ${task.n} runs ${earlyMs} ms early`);
    const { doneUs, cancelledUs } = task;
    const { leaseMs } = this.options;
    const isExcused = task.excused || isAborted();
    // "If a reply is lost, the call is repeated, and Redis returns the same tasks."
    const isBrief = leaseMs >= LONG_LEASE_MS && world.isBrief(3);
    const isNumbered = attempt <= began || !((world.isMild && !this.hadLateCall) || isBrief) || task.replays > 0;
    world.expect(
      isNumbered,
      () => `nothing took long, but attempt ${attempt} of task ${task.n} is the ${began}. that begins`,
    );
    world.expect(doneUs === undefined || isExcused, () => `task ${task.n} (${id}) runs again although it is done`);
    world.expect(cancelledUs === undefined || isExcused, () => `task ${task.n} (${id}) runs although it is cancelled`);
    const isAgain = task.returned > 0 && this.isGentle && !this.clockWasSet && !isExcused;
    world.expect(!isAgain, () => `task ${task.n} (${id}) runs again although its handler has returned`);
    this.takesSlot(process);
    if (context.group !== undefined) this.takesPlace(context.group);
    const isLost = isAborted() && process.hasNoticed;
    world.expect(!isLost, () => `attempt ${attempt} of task ${task.n} (${id}) begins although its lease has ended`);
    const key = `${process.pid}:${id}:${attempt}`;
    const running: Running = { task, process, events: 0, late: false };
    this.running.set(key, [...(this.running.get(key) ?? []), running]);
    const owner: Owner = {
      member,
      // An id has one attempt at a time, unless a call ends one that runs.
      key: this.cutShort.has(id) ? `task ${task.n}` : id,
      label: `attempt ${attempt} of task ${task.n}`,
      beganUs: world.nowUs,
      replyMs: world.replyMs(leaseMs),
      held: () => !isAborted(),
      readsClock: true,
      endsAtMs: () => this.endOf(id, attempt),
    };
    // What a failover or an eviction made of older ones has no owner that is known here.
    if (!task.excused) this.owners.begin(owner);
    // The lib counts the time from before the call, and the process may be stopped meanwhile.
    const beganUs = world.nowUs;
    try {
      for (const ms of payload.pieces) {
        await member.sleep(ms);
        if (!isAborted() && !task.excused) {
          this.owners.stillHolds(owner);
          this.expectRenewed(id);
        } else if (isAborted() && !payload.deaf) throw new Error('the signal has fired');
      }
    } finally {
      const tookUs = (member.nowUs - beganUs) * Math.max(1, member.speed);
      const isShort = tookUs < (this.options.timeoutMs - 50) * 1_000;
      const isLost = world.keepsLeases(leaseMs) && isAborted() && isShort && !task.mayBeGone;
      world.expect(!isLost, () => `nothing took long, but attempt ${attempt} of task ${task.n} lost its lease`);
      this.owners.end(owner);
      this.busy.set(process, (this.busy.get(process) as number) - 1);
    }
    const { deadLetter, retryLater } = member.load<typeof Tasks>('luanest/delayed-task');
    if (began <= payload.fails) throw new Error('it fails');
    if (payload.ending === 'dead') return deadLetter('it gives up');
    if (payload.ending === 'later' && began <= payload.fails + 2) {
      return retryLater({ delayMs: this.options.backoffMs, countsAsAttempt: began % 2 === 0 });
    }
    if (isAborted()) running.late = true;
    else task.returned++;
    return task.n;
  }

  /** @param args id of the task, and token of its lease */
  private hasFailed([id = '', token = '']: readonly string[]): void {
    const lease = `${id} ${token}`;
    // A repeated call gets the same reply.
    if (this.failures.has(lease)) return;
    this.failures.add(lease);
    this.failedUs.set(id, this.world.nowUs);
  }

  /** A take returns only tasks that this call has leased, also if it is repeated. @param words EVALSHA, hash, number of keys, keys, token */
  private taken(taker: string, words: readonly string[], [, , buried, ...rows]: readonly Reply[]): void {
    const { memory } = this.world.redis;
    const [keys, token = ''] = [words.slice(3, 3 + Number(words[2])), words[3 + Number(words[2])]];
    // A copy that arrives late leases tasks that nobody begins.
    const mayBeCopy = this.takers.has(token) && this.hadLateCall;
    this.takers.set(token, mayBeCopy ? undefined : taker);
    const keyOf = (room: string): string => keys.find((key) => key.endsWith(`:${room}`)) ?? '';
    for (let at = 0; at < rows.length - 4 * Number(buried); at += 4) {
      const id = rows[at] as string;
      const run = String(memory.run('HGET', [keyOf('runs'), id]));
      const isLeased = run.split(' ')[2] === token && memory.run('ZSCORE', [keyOf('leased'), id]) !== null;
      this.world.expect(isLeased, () => `a take returned ${id}, which it has not leased: ${run}`);
    }
  }

  /** Returns when the lease of an attempt ends in Redis, ms; undefined if there is none. */
  private endOf(id: string, attempt: number): number | undefined {
    const { memory } = this.world.redis;
    for (const key of this.partitionKeys('leased')) {
      const run = String(memory.run('HGET', [key.replace(/leased$/, 'runs'), id]));
      const till = memory.run('ZSCORE', [key, id]) as string | null;
      if (till !== null && new RegExp(`^${attempt} [la] `).test(run)) return Number(till);
    }
    return undefined;
  }

  /** "Leases are renewed after a third of their length", and soon again if that fails. */
  private expectRenewed(id: string): void {
    const { world } = this;
    const { leaseMs } = this.options;
    const share = leaseShare(world, leaseMs);
    if (share === 0 || this.cutShort.has(id)) return;
    for (const key of this.partitionKeys('leased')) {
      const till = world.redis.memory.run('ZSCORE', [key, id]) as string | null;
      const leftMs = till === null ? Infinity : Number(till) - world.redis.nowMs;
      world.expect(leftMs >= share * leaseMs, () => `the lease of ${id} ends in ${leftMs} of ${leaseMs} ms`);
    }
  }

  /** "A process never runs more than `concurrency` handlers." */
  private takesSlot(process: Process): void {
    const busy = (this.busy.get(process) ?? 0) + 1;
    this.busy.set(process, busy);
    const most = this.options.concurrency;
    this.world.expect(busy <= most, () => `${process.name} runs ${busy} handlers, at most ${most}`);
  }

  /** "`concurrency` bounds the tasks of a group that are leased", in each partition. */
  private takesPlace(group: string): void {
    const { groupShare } = this.options;
    if (groupShare === 0 || this.lostKeys) return;
    const { memory } = this.world.redis;
    for (const leased of this.partitionKeys('leased')) {
      const get = (room: string, id: string): string =>
        String(memory.run('HGET', [leased.replace(/leased$/, room), id]));
      const isOne = (id: string): boolean =>
        // A running task with a next one has the record of that one, which may be of another group.
        /^\d+ l /.test(get('runs', id)) && (get('tasks', id).split('\n')[1] as string).endsWith(`@${group}`);
      const count = (memory.run('ZRANGE', [leased, 0, -1]) as string[]).filter(isOne).length;
      this.world.expect(
        count <= groupShare,
        () => `${count} tasks of group ${group} run, at most ${groupShare} in ${leased}`,
      );
    }
  }

  private settles(member: Member, event: Tasks.DelayedTaskEvents['attemptSettled']): void {
    const { id, name, attempt, status: outcome } = event;
    const { world } = this;
    world.note(member.name, () => `attempt ${attempt} of ${id} is ${outcome}`);
    if (outcome === 'unknown' || (outcome === 'dead' && isUnknownTask(event.error))) return this.unknown(id, outcome);
    const key = `${member.process.pid}:${id}:${attempt}`;
    const all = this.running.get(key) ?? [];
    const open = all.filter(({ events }) => events === 0);
    // The attempt of a task that was replaced has lost it; another outcome belongs to the task that replaced it.
    const running = outcome === 'lost' || !this.cutShort.has(id) ? open[0] : open.at(-1);
    // A process without a handler for a task may find that it has lost it.
    const hasHandler = name === 'a' || !this.isStranger(member);
    if (running === undefined || !hasHandler) {
      const hasNotBegun = (all.length === 0 || !hasHandler) && (outcome === 'released' || outcome === 'lost');
      return world.expect(hasNotBegun, () => `an outcome too many: attempt ${attempt} of ${id} is ${outcome}`);
    }
    const { task } = running;
    running.events++;
    // Redis may have had the outcome, and its reply was lost.
    if (outcome === 'lost' && running.late) task.mayBeGone = true;
    if (outcome === 'dead') this.dies(task);
    if (outcome !== 'done') return;
    world.expect(task.doneUs === undefined || task.excused, () => `task ${task.n} (${id}) is done twice`);
    task.doneUs = world.nowUs;
  }

  private buried(id: string): void {
    const tasks = this.of([id]).filter((task) => (task.promised || task.undecided) && task.doneUs === undefined);
    if (tasks.length === 1) return this.dies(tasks[0] as Task);
    for (const task of this.of([id])) task.mayBeGone = true;
  }

  private dies(task: Task): void {
    task.deaths++;
    const isRight = task.deaths <= 1 + task.replays || task.excused;
    this.world.expect(
      isRight,
      () => `task ${task.n} is dead-lettered ${task.deaths} times, with ${task.replays} replays`,
    );
  }

  private unknown(id: string, outcome: string): void {
    const tasks = this.of([id]);
    if (outcome !== 'dead') return;
    if (tasks.length === 1) this.dies(tasks[0] as Task);
    else for (const task of tasks) task.mayHaveDied = true;
    const sinceMs = (this.world.nowUs - (this.failedUs.get(id) ?? 0)) / 1_000;
    const isRight = sinceMs >= UNKNOWN_MS - 5 || this.clockWasSet || tasks.some(({ excused }) => excused);
    this.world.expect(isRight, () => `task ${id} is dead as unknown ${sinceMs} ms after its last attempt failed`);
  }

  /** True if nothing has happened that may make a call fail for longer than a moment. */
  private get isGentle(): boolean {
    return isGentle(this.world, this.options.leaseMs, this.downMs);
  }

  private newTask(id: string, payload: Omit<Payload, 'n'>): Task {
    const n = this.tasks.length + 1;
    const mayBeGone = this.endlessIds.has(id);
    const state = {
      promised: false,
      undecided: true,
      mayBeGone,
      mayBeDropped: this.dropping > 0,
      mayHaveDied: false,
      excused: false,
      dueMs: undefined,
      doneUs: undefined,
      cancelledUs: undefined,
    };
    const counts = { begun: 0, returned: 0, deaths: 0, replays: this.replaying };
    const task: Task = { n, id, ...payload, ...state, ...counts };
    this.tasks.push(task);
    return task;
  }

  /** A call with an unknown outcome may end a task of these ids at any time. */
  private endless(ids: readonly string[]): void {
    for (const id of ids) this.endlessIds.add(id);
    for (const task of this.of(ids)) task.mayBeGone = true;
  }

  private of(ids: readonly string[]): Task[] {
    return this.tasks.filter(({ id }) => ids.includes(id));
  }

  /** Tasks that were scheduled, and that are neither done nor dead letters, nor removed by a caller. */
  private unsettled(): Task[] {
    const dead = this.deadIds();
    // Redis may have had the outcome of a handler that returned after its lease, and its process ended before the reply.
    const late = new Set(
      [...this.running.values()].flat().flatMap((one) => (one.late && one.events === 0 ? [one.task] : [])),
    );
    return this.tasks.filter((task) => {
      const { id, promised, mayBeGone, mayBeDropped, deaths, mayHaveDied, excused, doneUs, returned } = task;
      return (
        promised &&
        !(mayBeGone || excused || (mayBeDropped && (deaths > 0 || mayHaveDied))) &&
        !(doneUs !== undefined || returned > 0 || dead.has(id) || late.has(task))
      );
    });
  }

  private partitionKeys(room: string): string[] {
    const all = this.world.redis.memory.run('KEYS', [`*:delayed-task:*:${room}`]) as string[];
    return all.sort();
  }

  /** Notes which tasks are dead letters now: the reply that says so may be lost, and then a caller may drop them. */
  private seeDead(): void {
    for (const id of this.deadIds()) for (const task of this.of([id])) task.mayHaveDied = true;
  }

  private deadIds(): Set<string> {
    const { memory } = this.world.redis;
    return new Set(this.partitionKeys('dead').flatMap((key) => memory.run('ZRANGE', [key, 0, -1]) as string[]));
  }

  private counts(): [string, { running: number; waiting: number }][] {
    const { memory } = this.world.redis;
    return this.partitionKeys('tasks').map((key) => {
      const count = (room: string): number => memory.run('ZCARD', [key.replace(/tasks$/, room)]) as number;
      return [key, { running: count('leased'), waiting: count('due') }];
    });
  }
}

/** Returns how long a fault keeps Redis from running scripts, ms; Infinity if it refuses some of them at any time. */
export function downMsOf(fault: Fault): number {
  if (fault.kind === 'redis-down') return fault.downMs;
  return fault.kind === 'refuse' ? (fault.forMs ?? Infinity) : 0;
}

/** Returns which share of a lease is left at least while its holder works; 0 if that is not known. */
export function leaseShare(world: World, leaseMs: number): number {
  if (world.isBrief(0)) return leaseMs >= 200 ? 0.55 : 0;
  return world.isBrief(1) && leaseMs >= LONG_LEASE_MS ? 0.4 : 0;
}

/**
 * Returns true if nothing has happened that may make a call fail for longer than a moment.
 *
 * @param downMs how long Redis was down so far, in all, ms
 */
export function isGentle(world: World, leaseMs: number, downMs: number): boolean {
  if (leaseMs >= 500 && world.hadOnly('cut', 'close', 'flush', 'clock', 'deaf')) return true;
  return (
    leaseMs >= LONG_LEASE_MS &&
    downMs <= Math.min(700, leaseMs / 3) &&
    world.hadOnly('redis-down', 'refuse', 'close', 'clock', 'deaf')
  );
}

function isUnknownTask(error: unknown): boolean {
  return (error as { code?: string } | undefined)?.code === 'UNKNOWN_TASK';
}

export const delayedTask: Lib<Settings, Operation> = {
  ...work,
  start: (world, settings) => new TaskModel(world, settings),
};

export const taskTakes: Lib<Settings, Operation> = {
  ...takes,
  start: (world, settings) => new TaskModel(world, settings),
};
