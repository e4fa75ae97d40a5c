import {
  Catch,
  ForbiddenException,
  Injectable,
  UseFilters,
  UseGuards,
  UseInterceptors,
  type ArgumentsHost,
  type CallHandler,
  type CanActivate,
  type ExceptionFilter,
  type ExecutionContext,
  type NestInterceptor,
} from '@nestjs/common';
import { Cron, ScheduleModule } from '@nestjs/schedule';
import { catchError, of, tap, type Observable } from 'rxjs';
import { ScheduledLock, ScheduledLockService } from 'luanest/scheduled-lock';
import { uniquePrefix } from '../../../test/support/shared-servers';
import { boot, closeAll, LATER, tick } from './support';

const imports = [ScheduleModule.forRoot()];

afterEach(closeAll);

it('interceptors, guards and filters run where enhancers are asked for, with context type cron', async () => {
  const seen: string[] = [];
  @Injectable()
  class Watch implements NestInterceptor {
    intercept(context: ExecutionContext, next: CallHandler): Observable<unknown> {
      seen.push(`interceptor ${context.getType<string>()} ${context.getClass().name}.${context.getHandler().name}`);
      return next.handle().pipe(tap((value) => seen.push(`answer ${String(value)}`)));
    }
  }
  @Injectable()
  class Bouncer implements CanActivate {
    canActivate(context: ExecutionContext): boolean {
      seen.push(`guard ${context.getType<string>()}`);
      return context.getHandler().name !== 'denied';
    }
  }
  @Catch()
  class Net implements ExceptionFilter {
    catch(error: Error, host: ArgumentsHost): string {
      seen.push(`filter ${host.getType<string>()} ${error.message}`);
      return 'caught';
    }
  }
  @Injectable()
  class Jobs {
    constructor(private readonly locks: ScheduledLockService) {}
    @UseInterceptors(Watch)
    @UseGuards(Bouncer)
    @Cron(LATER)
    @ScheduledLock({ name: 'with', enhancers: true })
    with(): string {
      return `slot ${this.locks.current()?.slot}`;
    }
    @Cron(LATER)
    @ScheduledLock({ name: 'denied', enhancers: true })
    @UseGuards(Bouncer)
    denied(): void {
      seen.push('not denied');
    }
    @ScheduledLock({ name: 'broken', enhancers: true })
    @Cron(LATER)
    @UseFilters(Net)
    broken(): void {
      throw new Error('torn');
    }
    @UseInterceptors(Watch)
    @Cron(LATER)
    @ScheduledLock({ name: 'without' })
    without(): void {
      seen.push('without');
    }
  }
  const { app } = await boot({ imports, providers: [Jobs] }, { prefix: uniquePrefix() });
  const jobs = app.get(Jobs);
  const service = app.get(ScheduledLockService);
  const status = async (name: string) => (await service.history(name))[0]?.status;
  const answer = `slot ${LATER.getTime()}`;
  expect(await tick(jobs, 'with')).toBe(answer);
  expect(seen.splice(0)).toEqual(['guard cron', 'interceptor cron Jobs.with', `answer ${answer}`]);
  await expect(tick(jobs, 'denied')).rejects.toThrow(ForbiddenException);
  expect(seen.splice(0)).toEqual(['guard cron']);
  expect(await status('denied')).toBe('failed');
  await tick(jobs, 'broken');
  expect(seen.splice(0)).toEqual(['filter cron torn']);
  expect(await status('broken')).toBe('ran');
  await tick(jobs, 'without');
  expect(seen).toEqual(['without']);
});

it('an error that an interceptor catches is not a failure of the job, and its value is the result', async () => {
  @Injectable()
  class Catches implements NestInterceptor {
    intercept(_: ExecutionContext, next: CallHandler): Observable<unknown> {
      return next.handle().pipe(catchError(() => of('caught')));
    }
  }
  @Injectable()
  class Skips implements NestInterceptor {
    intercept(): Observable<unknown> {
      return of('skipped');
    }
  }
  @Injectable()
  class Jobs {
    @UseInterceptors(Catches)
    @Cron(LATER)
    @ScheduledLock({ name: 'caught', enhancers: true })
    caught(): void {
      throw new Error('torn');
    }
    @UseInterceptors(Skips)
    @Cron(LATER)
    @ScheduledLock({ name: 'skipped', enhancers: true })
    skipped(): void {
      throw new Error('torn');
    }
  }
  const { app } = await boot({ imports, providers: [Jobs] }, { prefix: uniquePrefix() });
  const service = app.get(ScheduledLockService);
  for (const name of ['caught', 'skipped'] as const) {
    expect(await tick(app.get(Jobs), name)).toBe(name);
    expect((await service.history(name))[0]?.status).toBe('ran');
  }
});
