import { Injectable, Module, type INestApplication } from '@nestjs/common';
import { Interval, ScheduleModule } from '@nestjs/schedule';
import { ScheduledLock, ScheduledLockModule, ScheduledLockService } from 'luanest/scheduled-lock';
import { Signal } from '../signal.js';

@Injectable()
class Jobs {
  readonly ran = new Signal<number>();

  constructor(private readonly locks: ScheduledLockService) {}

  @ScheduledLock({ name: 'tick' })
  @Interval(100)
  tick(): void {
    this.ran.tell(this.locks.current()?.fence ?? 0);
  }
}

@Module({ imports: [ScheduledLockModule.forRoot({ namespace: 'app' }), ScheduleModule.forRoot()], providers: [Jobs] })
export class ScheduledLockUse {}

export async function useScheduledLock(app: INestApplication): Promise<string> {
  const fence = await app.get(Jobs).ran.told;
  const name = app.get(ScheduledLockService).names.join();
  return `job ${name} ran under ${fence > 0 ? 'a' : 'no'} fence`;
}
