import type { ModuleMetadata } from '@nestjs/common';
import type * as Tasks from '../../../libs/delayed-task/src';
import type { Fault } from '../engine/plan';
import type { Member } from '../engine/member';
import type { Lib, Model, World } from '../engine/world';
import { codeOf } from './codes';

interface Settings {
  readonly leaseMs: number;
  readonly partitions: number;
  readonly concurrency: number;
  readonly ids: number;
}

interface Operation {
  readonly kind: 'upsert' | 'remove' | 'look' | 'pause';
  readonly id: string;
  readonly everyMs: number;
  readonly group: string | undefined;
  readonly workMs: number;
}

interface Payload {
  readonly everyMs: number;
  readonly workMs: number;
}

/** Checks what the README of delayed-task says about schedules. */
class ScheduleModel implements Model<Operation> {
  private readonly done = new Set<string>();
  /** The longest work of each schedule, ms. */
  private readonly worksMs = new Map<string, number>();
  private excused = false;

  constructor(
    private readonly world: World,
    private readonly options: Settings,
  ) {}

  app(member: Member): ModuleMetadata {
    const { DelayedTaskModule, DelayedTaskEvents } = member.load<typeof Tasks>('luanest/delayed-task');
    member.process.channel(DelayedTaskEvents.attemptSettled).subscribe((event) => {
      const { id, status } = event as Tasks.DelayedTaskEvents['attemptSettled'];
      this.world.note(member.name, () => `the task ${id} is ${status}`);
      if (status !== 'done') return;
      this.world.expect(!this.done.has(id) || this.excused, () => `the task ${id} is done twice`);
      this.done.add(id);
    });
    const { leaseMs, partitions, concurrency } = this.options;
    return { imports: [DelayedTaskModule.forRoot({ leaseMs, partitions, concurrency, attempts: 1_000 })] };
  }

  started(member: Member): void {
    this.tasksOf(member).handle('slot', (payload: Payload, task) => this.handle(member, payload, task));
  }

  disturbed({ kind }: Fault): void {
    // What Redis has lost, it may do again; and a clock that goes back brings old slots again.
    this.excused ||= kind === 'evict' || kind === 'failover' || kind === 'redis-clock';
  }

  async perform(member: Member, { kind, id, everyMs, group, workMs }: Operation): Promise<void> {
    const tasks = this.tasksOf(member);
    if (kind === 'remove') {
      await tasks.removeSchedule(id).catch(codeOf);
    } else if (kind === 'pause') {
      await tasks.pause().catch(codeOf);
      await member.sleep(this.options.leaseMs);
      await tasks.resume().catch(codeOf);
    } else if (kind === 'look') {
      await tasks.listSchedules({ limit: 1 }).catch(codeOf);
      await tasks.getSchedule(id).catch(codeOf);
    } else {
      this.worksMs.set(id, Math.max(workMs, this.worksMs.get(id) ?? 0));
      const task = { name: 'slot', payload: { everyMs, workMs }, ...(group !== undefined && { group }) };
      const made = await tasks.upsertSchedule(id, { everyMs }, task).catch(codeOf);
      if (typeof made === 'string') return;
      this.world.expect(made.nextRunAtMs % everyMs === 0 || this.excused, () => `${id} is due at ${made.nextRunAtMs}`);
    }
  }

  left(): number {
    return this.entries().filter((id) => !id.startsWith('\u0001')).length;
  }

  async finish(member: Member): Promise<void> {
    const tasks = this.tasksOf(member);
    // A process may have died before it ended its pause.
    while (typeof (await tasks.resume().catch(codeOf)) === 'string') await member.sleep(100);
    // With one handler, a schedule waits for the work of all others.
    const workMs = [...this.worksMs.values()].reduce((sum, ms) => sum + ms, 0);
    await member.sleep(3 * this.options.leaseMs + 5_000 + workMs);
    for (const id of this.worksMs.keys()) {
      const found = await tasks.getSchedule(id).catch(codeOf);
      const lateMs = typeof found === 'object' ? this.world.redis.nowMs - found.nextRunAtMs : 0;
      this.world.expect(
        lateMs < 2_000 + workMs || this.excused,
        () => `${id} stands still: its slot is ${lateMs} ms late`,
      );
      while (typeof (await tasks.removeSchedule(id).catch(codeOf)) === 'string') await member.sleep(100);
    }
  }

  settled(): void {
    const left = this.entries();
    this.world.expect(left.length === 0 || this.excused, () => `still there: ${left.join(', ')}`);
  }

  lives(key: string): boolean {
    return /:(due|leased|dead|tasks|runs|lines|heads|paused)$/.test(key);
  }

  private tasksOf(member: Member): Tasks.DelayedTaskService {
    const { DelayedTaskService } = member.load<typeof Tasks>('luanest/delayed-task');
    return member.app?.get(DelayedTaskService) as Tasks.DelayedTaskService;
  }

  private async handle(member: Member, { everyMs, workMs }: Payload, { id, group }: Tasks.TaskContext): Promise<void> {
    const [, schedule = '', slot = ''] = /^(.*)@(\d+)$/.exec(id) ?? [];
    this.world.note(member.name, () => `the task ${id} of group ${group} begins`);
    const earlyMs = Number(slot) - this.world.redis.nowMs;
    const isRight = this.worksMs.has(schedule) && Number(slot) % everyMs === 0 && earlyMs <= 0;
    this.world.expect(isRight || this.excused, () => `the task ${id} begins ${earlyMs} ms early`);
    this.world.expect(!this.done.has(id) || this.excused, () => `the task ${id} begins again although it is done`);
    await member.sleep(workMs);
  }

  private entries(): string[] {
    const { memory } = this.world.redis;
    const keys = memory.run('KEYS', ['*:delayed-task:*:tasks']) as string[];
    return keys.sort().flatMap((key) => memory.run('HKEYS', [key]) as string[]);
  }
}

export const taskSchedules: Lib<Settings, Operation> = {
  name: 'task-schedules',
  faults: {
    kill: 8,
    close: 6,
    stop: 8,
    cut: 20,
    deaf: 4,
    slow: 8,
    hold: 16,
    refuse: 6,
    flush: 4,
    evict: 1,
    clock: 4,
    'redis-down': 3,
  },
  together: [['hold'], ['cut', 'close'], ['hold', 'close'], ['cut', 'slow'], ['kill'], ['clock']],
  settings: (random) => ({
    leaseMs: random.magnitude(100, 3_000),
    partitions: random.integer(1, 3),
    concurrency: random.magnitude(1, 8),
    ids: random.integer(1, 4),
  }),
  operation: (random, { leaseMs, ids }) => ({
    kind: random.pick(['upsert', 'upsert', 'upsert', 'remove', 'look', 'pause']),
    id: `r${random.integer(1, ids)}`,
    everyMs: random.pick([1_000, 1_000, 1_500, 3_000]),
    group: random.chance(0.4) ? random.pick(['x', 'y']) : undefined,
    workMs: random.chance(0.7) ? random.integer(0, 20) : random.work(leaseMs),
  }),
  scaleMs: ({ leaseMs }) => leaseMs,
  settleMs: ({ leaseMs }) => 10 * leaseMs + 40_000,
  start: (world, settings) => new ScheduleModel(world, settings),
};
