import { Injectable, type OnModuleInit } from '@nestjs/common';
import { Test, type TestingModule, type TestingModuleBuilder } from '@nestjs/testing';
import { LuanestTesting, LuanestTestingModule, MemoryRedis, TestClock } from 'luanest/testing';
import { time } from '../../internal/src';

const fired: string[] = [];

@Injectable()
class Broken implements OnModuleInit {
  onModuleInit(): void {
    time.setRepeatingTimer(() => fired.push('timer of an app that did not boot'), 10);
    throw new Error('broken');
  }
}

const build = (clock?: TestClock, providers: (typeof Broken)[] = []): TestingModuleBuilder => {
  const redis = clock && new MemoryRedis({ clock });
  return Test.createTestingModule({ imports: [LuanestTestingModule.forRoot({ redis })], providers });
};

async function failToBoot(): Promise<TestingModule> {
  const app = await build(undefined, [Broken]).compile();
  await expect(app.init()).rejects.toThrow('broken');
  return app;
}

afterEach(() => {
  TestClock.installed?.uninstall();
  fired.length = 0;
});

it('is shared with an app that is open, or made', async () => {
  const [one, other] = [await build().compile(), await build().compile()];
  await Promise.all([one.init(), other.init()]);
  expect(other.get(LuanestTesting).clock).toBe(one.get(LuanestTesting).clock);
  await one.close();
  expect(TestClock.installed).toBe(other.get(LuanestTesting).clock);
  await other.close();
  expect(TestClock.installed).toBeUndefined();
});

it('stays with an app that is made while another one closes', async () => {
  const [made, other] = [await build().compile(), await build().compile()];
  await other.init();
  await other.close();
  expect(TestClock.installed).toBeUndefined();
  await made.init();
  expect(TestClock.installed).toBe(made.get(LuanestTesting).clock);
  await made.close();
});

it('of an app that did not boot is replaced', async () => {
  const failed = await failToBoot();
  const left = TestClock.installed;
  const clock = new TestClock();
  const app = await build(clock).compile();
  await app.init();
  await failed.close();
  expect([TestClock.installed, left === clock]).toEqual([clock, false]);
  await clock.advance(100);
  expect(fired).toEqual([]);
  await app.close();
  expect(TestClock.installed).toBeUndefined();
});

it('of an app that did not boot is not inherited, nor are its timers', async () => {
  await failToBoot();
  const left = TestClock.installed as TestClock;
  await left.advance(5);
  const app = await build().compile();
  await app.init();
  const { clock } = app.get(LuanestTesting);
  expect([clock === left, clock.nowMs]).toEqual([false, Date.UTC(2026, 0, 1)]);
  await clock.advance(100);
  expect(fired).toEqual([]);
  await app.close();
});

it('of the test is not replaced', async () => {
  const clock = new TestClock().install();
  await failToBoot();
  const app = await build().compile();
  expect(TestClock.installed).toBe(clock);
  await expect(build(new TestClock()).compile()).rejects.toThrow('Another TestClock is installed in this process.');
  await app.close();
});
