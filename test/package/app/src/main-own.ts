import 'reflect-metadata';
import { Injectable, Module, type Type } from '@nestjs/common';
import { ConfigModule, ConfigService } from '@nestjs/config';
import { NestFactory } from '@nestjs/core';
import {
  DelayedTask,
  DelayedTaskModule,
  DelayedTaskService,
  type DeadLetter,
  type ScheduleOptions,
  type TaskContext,
} from 'luanest/delayed-task';
import { LockModule, LockService } from 'luanest/lock';
import { type Page, ScriptRegistryModule } from 'luanest/script-registry';
import { Signal } from './signal.js';

const { REDIS_URL: url = 'redis://127.0.0.1:6379' } = process.env;
const TASK: ScheduleOptions = {
  id: 'mail-1',
  delayMs: 0,
  attempts: 1,
  backoff: { delayMs: 10, factor: 2, maxDelayMs: 100 },
  onConflict: 'keep',
};

@Injectable()
class Mails {
  readonly sent = new Signal<string>();
  isDown = true;

  @DelayedTask('mail.send')
  send({ to }: { to: string }, { attempt }: TaskContext): void {
    if (this.isDown) throw new Error('the mail server is down');
    this.sent.tell(`${to} at attempt ${attempt}`);
  }
}

@Module({
  imports: [
    ConfigModule.forRoot({ isGlobal: true, ignoreEnvFile: true }),
    ScriptRegistryModule.forRootAsync({
      inject: [ConfigService],
      useFactory: (config: ConfigService) => ({ url: config.getOrThrow<string>('REDIS_URL') }),
    }),
    DelayedTaskModule.forRoot({}),
  ],
  providers: [Mails],
})
class MailModule {}

@Injectable()
class UsesLock {
  constructor(readonly locks: LockService) {}
}

@Module({ imports: [LockModule.forRoot({ isGlobal: false })], providers: [UsesLock] })
class NearModule {}

@Module({ providers: [UsesLock] })
class FarModule {}

@Module({ imports: [ScriptRegistryModule.forRoot({ url }), NearModule] })
class LocalModule {}

@Module({ imports: [ScriptRegistryModule.forRoot({ url }), NearModule, FarModule] })
class MissingModule {}

@Module({ imports: [ScriptRegistryModule.forRoot({ url }), LockModule.forRoot({}), LockModule.forRoot({})] })
class TwiceModule {}

/** A task fails, is listed among the dead letters, and is done after it was replayed. */
async function replayed(): Promise<string> {
  const app = await NestFactory.createApplicationContext(MailModule, { logger: false });
  const [tasks, mails] = [app.get(DelayedTaskService), app.get(Mails)];
  await tasks.schedule('mail.send', { to: 'ann' }, TASK);
  let page: Page<DeadLetter> = { items: [] };
  while (page.items.length === 0) page = await tasks.deadLetters({ limit: 10 });
  const dead = page.items.map(({ id, error }) => `${id} ${error}`).join();
  mails.isDown = false;
  const count = await tasks.replayAll({ name: 'mail.send' });
  const sent = await mails.sent.told;
  await app.close();
  return `${dead}, ${count} replayed, ${sent}, more ${page.nextCursor ?? 'none'}`;
}

/** Starts and closes an app of a module. Returns its result, or the error of the boot. */
async function bootOf(module: Type): Promise<string> {
  try {
    const app = await NestFactory.createApplicationContext(module, { logger: false, abortOnError: false });
    const released = await app.get(UsesLock, { strict: false }).locks.withLock('report', {}, () => 'held');
    await app.close();
    return released;
  } catch (error) {
    return (error as Error).message.split('. ')[0] ?? '';
  }
}

/** Clients that the registry makes from an address: no line ends one, and the process must end by itself. */
async function main(): Promise<void> {
  const lines = [
    `forRootAsync: ${await replayed()}`,
    `isGlobal false, near: ${await bootOf(LocalModule)}`,
    `isGlobal false, far: ${await bootOf(MissingModule)}`,
    `forRoot twice: ${await bootOf(TwiceModule)}`,
  ];
  process.stdout.write(`${lines.join('\n')}\n`);
}

void main();
