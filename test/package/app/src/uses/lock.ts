import { Module, type INestApplicationContext } from '@nestjs/common';
import { LockModule, LockService } from 'luanest/lock';

@Module({ imports: [LockModule.forRoot({})] })
export class LockUse {}

export async function useLock(app: INestApplicationContext): Promise<string> {
  const locks = app.get(LockService);
  const first = await locks.acquire('report');
  const second = await locks.tryAcquire('report');
  const released = await first.release();
  const third = await locks.withLock('report', {}, (lock) => lock.fence);
  const fences = third > first.fence ? 'the next fence is higher' : 'the fence did not rise';
  return `let in, another ${second ? 'let in' : 'kept out'}, ${released}, ${fences}`;
}
