import { Injectable, Logger } from '@nestjs/common';
import { Cron, Interval, ScheduleModule } from '@nestjs/schedule';
import { ScheduledLock, ScheduledLockService } from 'luanest/scheduled-lock';
import { Gate } from '../../../test/support/gate';
import { uniquePrefix } from '../../../test/support/shared-servers';
import { eventually } from '../../../test/support/wait';
import { boot, closeAll, LATER, type Booted } from '../../scheduled-lock/test/support';
import { clusterClient, standaloneClient } from '../../script-registry/test/support';
import type { Section } from '../src/console.types';
import { jobsSection } from '../src/sections/jobs';
import { act, allRows, factsOf, figuresOf, rowsOf, sectionOf } from './section-support';

Logger.overrideLogger(false);

const YEAR_MS = 366 * 86_400_000;
let gate: Gate;

@Injectable()
class Jobs {
  @Cron('0 0 1 1 *', { name: 'yearly', timeZone: 'UTC' })
  @ScheduledLock({ name: 'report' })
  async report(): Promise<void> {
    await gate.pass();
  }
  @Cron(LATER)
  @ScheduledLock({ name: 'fails' })
  fails(): void {
    throw new Error('on purpose');
  }
  @Interval(60_000_000)
  @ScheduledLock({ name: 'sweep' })
  sweep(): void {
    // Ends at once.
  }
}

afterEach(closeAll);

describe.each([
  ['standalone', standaloneClient],
  ['Cluster', clusterClient],
] as const)('the section of jobs on %s', (_, connect) => {
  let booted: Booted;
  let prefix: string;
  let section: Section;
  const story = (name: string) => factsOf(section, ['jobs', 'all', name]);
  const rows = (filter?: string) => allRows(section, ['jobs', 'all'], 50, filter);

  beforeEach(async () => {
    gate = new Gate();
    prefix = uniquePrefix();
    const metadata = { imports: [ScheduleModule.forRoot()], providers: [Jobs] };
    booted = await boot(metadata, { prefix, client: connect(), lock: { node: 'node-1' } });
    section = sectionOf(jobsSection, { ScheduledLockService: booted.app.get(ScheduledLockService) });
  });

  it('lists all jobs, with the next instant of each', async () => {
    const [report, fails, sweep] = await rows();
    expect(report).toMatchObject({ name: 'report', kind: 'cron', runningOn: null, lastStatus: null, lastAtMs: null });
    const next = new Date(report?.nextAtMs as number);
    expect(next.toISOString()).toMatch(/^\d{4}-01-01T00:00:00.000Z$/);
    expect(next.getTime() - Date.now()).toBeLessThan(YEAR_MS);
    expect(fails).toMatchObject({ name: 'fails', nextAtMs: LATER.getTime() });
    const inMs = (sweep?.nextAtMs as number) - Date.now();
    expect(inMs).toBeGreaterThan(-1_000);
    expect(inMs).toBeLessThanOrEqual(60_000_000);
    expect(await story('report')).toMatchObject({ state: 'none', codes: ['job-never-ran'], actions: ['run-now'] });
    expect(await figuresOf(section)).toEqual({ jobs: 3, running: 0, codes: [] });
  });

  it('starts a job by hand, does not wait for a long run, and says who runs it', async () => {
    const address = ['jobs', 'all', 'report'];
    const done = act(section, 'run-now', address);
    await eventually(() => expect(gate.entered).toBe(1));
    expect(await story('report')).toMatchObject({
      state: 'running',
      node: 'node-1',
      mode: 'free',
      codes: ['job-running'],
    });
    expect(await rows('running')).toMatchObject([{ name: 'report', runningOn: 'node-1' }]);
    expect(await section.preview('run-now', { address }, {})).toMatchObject({
      count: 0,
      sentence: { code: 'job-running' },
    });
    expect(await done).toEqual({ count: 1 });
    expect(await section.run('run-now', { address }, {}, undefined)).toMatchObject({
      count: 0,
      refused: { code: 'job-locked' },
    });
    expect(await figuresOf(section)).toMatchObject({ running: 1 });
    gate.open();
    await eventually(async () => expect(await story('report')).toMatchObject({ state: 'done', codes: ['job-ran'] }));
    const runs = rowsOf(await section.list([...address, 'runs'], { limit: 50 }));
    expect(runs).toMatchObject([
      { status: 'ran', node: 'node-1', slotAtMs: null },
      { status: 'skipped-held', fence: 0 },
    ]);
    expect((await section.show(address))?.lists).toMatchObject([{ name: 'runs', listing: { total: 2 } }]);
  });

  it('says that a job failed, and keeps saying so after ticks that were skipped', async () => {
    const address = ['jobs', 'all', 'fails'];
    expect(await act(section, 'run-now', address)).toMatchObject({
      count: 1,
      refused: { code: 'job-run-failed', values: { error: expect.stringContaining('on purpose') as string } },
    });
    expect(await story('fails')).toMatchObject({ state: 'done', codes: ['job-failed'] });
    expect(await rows('failing')).toMatchObject([{ name: 'fails', lastStatus: 'failed' }]);
    expect(await figuresOf(section)).toMatchObject({ codes: ['job-failed'] });
    expect(await section.find('fails')).toMatchObject([{ address, kind: 'job', sentence: { code: 'job-failed' } }]);
  });

  it('says that a run has died', async () => {
    expect(await act(section, 'run-now', ['jobs', 'all', 'sweep'])).toEqual({ count: 1 });
    expect(await story('sweep')).toMatchObject({ codes: ['job-ran'] });
    const { client } = booted;
    const state = (await keysOf(client)).find((key) => key.includes(':sweep}:state')) as string;
    // What a process leaves that died: a run that has not completed, and whose lease has ended.
    await client.hset(state, { done: 0, till: Date.now() - 60_000 });
    expect(await story('sweep')).toMatchObject({ state: 'died', node: 'node-1', codes: ['job-died'] });
  });

  it('finds nothing under other names', async () => {
    expect(await section.find('other')).toEqual([]);
    expect(await section.show(['jobs', 'all', 'other'])).toBeUndefined();
    await expect(section.list(['jobs', 'all', 'other', 'runs'], { limit: 9 })).rejects.toThrow('jobs/all/other/runs');
    await expect(section.preview('stop', { address: ['jobs', 'all', 'sweep'] }, {})).rejects.toThrow('run-now');
    await expect(section.run('run-now', { list: ['jobs', 'all'] }, {}, undefined)).rejects.toThrow('is for one thing');
  });

  const keysOf = async (client: Booted['client']): Promise<string[]> => {
    const nodes = 'nodes' in client ? client.nodes('master') : [client];
    return (await Promise.all(nodes.map((node) => node.keys(`${prefix}:*:state`)))).flat();
  };

  it('finds the jobs of other apps, and runs none of them', async () => {
    const { app } = booted;
    await app.get(ScheduledLockService).runNow('sweep');
    const metadata = { imports: [ScheduleModule.forRoot()], providers: [] };
    const other = await boot(metadata, { prefix, client: connect(), lock: { namespace: 'viewer' } });
    const foreign = sectionOf(jobsSection, { ScheduledLockService: other.app.get(ScheduledLockService) });
    const tag = String((await allRows(foreign, ['jobs', 'others']))[0]?.name);
    expect(tag).toMatch(/:sweep$/);
    expect(await allRows(foreign, ['jobs', 'others'])).toMatchObject([
      { kind: 'other', nextAtMs: null, lastStatus: 'ran' },
    ]);
    expect(await allRows(section, ['jobs', 'others'])).toEqual([]);
    expect(await factsOf(foreign, ['jobs', 'others', tag])).toMatchObject({
      state: 'done',
      codes: ['job-ran'],
      actions: [],
    });
    expect(await allRows(foreign, ['jobs', 'others', tag, 'runs'])).toMatchObject([{ status: 'ran' }]);
    expect(await foreign.find('sweep')).toMatchObject([{ address: ['jobs', 'others', tag], kind: 'job' }]);
    expect(await foreign.show(['jobs', 'others', 'shop:unknown'])).toBeUndefined();
    await expect(foreign.preview('run-now', { address: ['jobs', 'others', tag] }, {})).rejects.toThrow('nothing at');
  });
});
