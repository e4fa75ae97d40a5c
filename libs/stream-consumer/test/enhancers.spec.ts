import {
  BadRequestException,
  Catch,
  createParamDecorator,
  ForbiddenException,
  Injectable,
  ParseIntPipe,
  UseFilters,
  UseGuards,
  UseInterceptors,
  UsePipes,
  type ArgumentMetadata,
  type ArgumentsHost,
  type CallHandler,
  type CanActivate,
  type ExceptionFilter,
  type ExecutionContext,
  type NestInterceptor,
  type PipeTransform,
  type Type,
} from '@nestjs/common';
import { APP_INTERCEPTOR } from '@nestjs/core';
import { catchError, concat, map, of, tap, type Observable } from 'rxjs';
import {
  deadLetter,
  StreamConsumer,
  StreamConsumerService,
  StreamMessageParam,
  StreamPayload,
  type StreamMessage,
} from 'luanest/stream-consumer';
import { eventually } from '../../../test/support/wait';
import { boot, closeAll } from './support';

let seen: string[] = [];
beforeEach(() => (seen = []));
afterEach(closeAll);

@Injectable()
class Watch implements NestInterceptor {
  intercept(context: ExecutionContext, next: CallHandler): Observable<unknown> {
    const { payload } = context.getArgByIndex<StreamMessage>(0);
    seen.push(
      `interceptor ${context.getType<string>()} ${context.getClass().name}.${context.getHandler().name} ${String(payload)}`,
    );
    return next.handle().pipe(tap((value) => seen.push(`answer ${String(value)}`)));
  }
}
@Injectable()
class Wrap implements NestInterceptor {
  intercept(_: ExecutionContext, next: CallHandler): Observable<unknown> {
    return next.handle().pipe(map((data: unknown) => ({ data })));
  }
}
@Injectable()
class Absent implements NestInterceptor {
  intercept(): Observable<unknown> {
    return of(undefined);
  }
}
@Injectable()
class Catches implements NestInterceptor {
  intercept(_: ExecutionContext, next: CallHandler): Observable<unknown> {
    return next.handle().pipe(catchError(() => of('caught')));
  }
}
@Injectable()
class Hides implements NestInterceptor {
  intercept(_: ExecutionContext, next: CallHandler): Observable<unknown> {
    return next.handle().pipe(map(() => undefined));
  }
}
@Injectable()
class Twice implements NestInterceptor {
  intercept(_: ExecutionContext, next: CallHandler): Observable<unknown> {
    return concat(next.handle(), next.handle());
  }
}
@Injectable()
class Bouncer implements CanActivate {
  canActivate(context: ExecutionContext): boolean {
    seen.push(`guard ${context.getType<string>()}`);
    return context.getArgByIndex<StreamMessage>(0).payload !== 'denied';
  }
}
@Catch()
class Silent implements ExceptionFilter {
  catch(error: Error, host: ArgumentsHost): void | Promise<void> {
    seen.push(
      `filter ${host.getType<string>()} ${error.message} ${String(host.getArgByIndex<StreamMessage>(0).payload)}`,
    );
  }
}
@Catch()
class SilentLater extends Silent {
  override async catch(error: Error, host: ArgumentsHost): Promise<void> {
    await Promise.resolve();
    await super.catch(error, host);
  }
}
@Catch(BadRequestException, ForbiddenException)
class GivesUp implements ExceptionFilter {
  catch(error: Error): unknown {
    return deadLetter(`given up: ${error.message}`);
  }
}
@Injectable()
class Shout implements PipeTransform {
  transform(value: unknown, { type }: ArgumentMetadata): unknown {
    return type === 'body' ? `${String(value)}!` : value;
  }
}
const Attempt = createParamDecorator(
  (_: unknown, context: ExecutionContext) => context.getArgByIndex<StreamMessage>(0).attempt,
);

async function outcome(app: Awaited<ReturnType<typeof boot>>, stream: string): Promise<string> {
  const streams = app.get(StreamConsumerService);
  return eventually(async () => {
    // First, or a message that moves between the two readings would look like a handled one.
    expect(await streams.stats(stream, 'g')).toMatchObject({ length: 0, pending: 0 });
    const { items } = await streams.deadLetters(stream, 'g');
    return items[0]?.error ?? 'committed';
  });
}

it('guards, interceptors, pipes and custom parameters run, in a context of type stream', async () => {
  class Jobs {
    @UseGuards(Bouncer)
    @UseInterceptors(Watch)
    @StreamConsumer({ stream: 's', group: 'g', attempts: 1 })
    handle(
      @StreamMessageParam() message: StreamMessage,
      @StreamPayload(Shout) text: string,
      @Attempt() attempt: number,
    ): void {
      seen.push(`${message.key} ${text} ${attempt} ${this.constructor.name}`);
    }
  }
  const app = await boot({ providers: [Jobs] });
  await app.get(StreamConsumerService).publish('s', 'hello', { key: 'k' });
  expect(await outcome(app, 's')).toBe('committed');
  expect(seen).toEqual(['guard stream', 'interceptor stream Jobs.handle hello', 'k hello! 1 Jobs', 'answer undefined']);
});

it('pipes run on a property of the payload, and their refusal is a failure', async () => {
  class Jobs {
    @UsePipes(Shout)
    @StreamConsumer({ stream: 's', group: 'g', attempts: 1 })
    handle(@StreamPayload('name') name: string, @StreamPayload('n', ParseIntPipe) n: number): void {
      seen.push(`${name} ${n}`);
    }
  }
  const app = await boot({ providers: [Jobs] });
  const streams = app.get(StreamConsumerService);
  await streams.publish('s', { name: 'a', n: 'x' });
  expect(await outcome(app, 's')).toMatch(/numeric string is expected/);
  expect(seen).toEqual([]);
});

it('a guard that refuses is a failure', async () => {
  class Jobs {
    @UseGuards(Bouncer)
    @StreamConsumer({ stream: 's', group: 'g', attempts: 2 })
    handle(): void {
      seen.push('handled');
    }
  }
  const app = await boot({ providers: [Jobs] });
  await app.get(StreamConsumerService).publish('s', 'denied');
  expect(await outcome(app, 's')).toMatch(/^ForbiddenException/);
  expect(seen).toEqual(['guard stream', 'guard stream']);
});

// Nest throws again what a filter answers nothing to, unless it answers that later.
it.each<[string, Type<ExceptionFilter>]>([
  ['at once', Silent],
  ['later', SilentLater],
])('a filter that answers nothing, %s, acknowledges nothing', async (_, filter) => {
  @UseFilters(filter)
  class Jobs {
    @StreamConsumer({ stream: 's', group: 'g', attempts: 2 })
    handle(): void {
      throw new Error('broken');
    }
  }
  const app = await boot({ providers: [Jobs] });
  await app.get(StreamConsumerService).publish('s', 'p');
  expect(await outcome(app, 's')).toBe('Error: broken');
  expect(seen).toEqual(['filter stream broken p', 'filter stream broken p']);
});

it('a filter may answer with an outcome', async () => {
  class Jobs {
    @UseFilters(GivesUp)
    @StreamConsumer({ stream: 's', group: 'g' })
    handle({ attempt }: StreamMessage): void {
      throw new BadRequestException(`attempt ${attempt}`);
    }
  }
  const app = await boot({ providers: [Jobs] });
  await app.get(StreamConsumerService).publish('s', 'p');
  expect(await outcome(app, 's')).toBe('given up: attempt 1');
});

it('an interceptor that wraps results changes nothing, not even a global one', async () => {
  class Jobs {
    @StreamConsumer({ stream: 's', group: 'g', attempts: 1 })
    handle(): Promise<void> {
      seen.push('handled');
      return Promise.resolve();
    }
    @StreamConsumer({ stream: 'dead', group: 'g', attempts: 1 })
    dead(): ReturnType<typeof deadLetter> {
      return deadLetter('said so');
    }
    @StreamConsumer({ stream: 'garbage', group: 'g', attempts: 1 })
    garbage(): void {
      return 'handled' as never;
    }
  }
  const app = await boot({ providers: [Jobs, { provide: APP_INTERCEPTOR, useClass: Wrap }] });
  for (const stream of ['s', 'dead', 'garbage']) await app.get(StreamConsumerService).publish(stream, 'p');
  expect(await outcome(app, 's')).toBe('committed');
  expect(await outcome(app, 'dead')).toBe('said so');
  expect(await outcome(app, 'garbage')).toBe('committed');
  expect(seen).toEqual(['handled']);
});

it('an interceptor that catches an error, or does not call the handler, has handled the message', async () => {
  class Jobs {
    @UseInterceptors(Absent)
    @StreamConsumer({ stream: 'skipped', group: 'g', attempts: 2 })
    skipped(): void {
      seen.push('skipped');
    }
    @UseInterceptors(Catches)
    @StreamConsumer({ stream: 'caught', group: 'g', attempts: 2 })
    caught(): void {
      throw new Error('broken');
    }
    @UseInterceptors(Catches)
    @StreamConsumer({ stream: 'piped', group: 'g', attempts: 2 })
    piped(@StreamPayload(ParseIntPipe) n: number): void {
      seen.push(`piped ${n}`);
    }
    @UseInterceptors(Hides)
    @StreamConsumer({ stream: 'hidden', group: 'g', attempts: 2 })
    hidden(): ReturnType<typeof deadLetter> {
      return deadLetter('no');
    }
    // Of two calls, the last one counts.
    @UseInterceptors(Catches, Twice)
    @StreamConsumer({ stream: 'twice', group: 'g', attempts: 2 })
    twice(): ReturnType<typeof deadLetter> {
      seen.push('twice');
      if (seen.length > 1) throw new Error('broken');
      return deadLetter('first call');
    }
    @UseInterceptors(Catches)
    @StreamConsumer({ stream: 'thrown', group: 'g', attempts: 2 })
    thrown(): void {
      // eslint-disable-next-line @typescript-eslint/only-throw-error
      throw deadLetter('thrown');
    }
    @UseInterceptors(Wrap)
    @StreamConsumer({ stream: 'observed', group: 'g', attempts: 2 })
    observed(): never {
      return of('first', deadLetter('observed')) as never;
    }
  }
  const app = await boot({ providers: [Jobs] });
  const streams = ['skipped', 'caught', 'piped', 'twice', 'hidden', 'thrown', 'observed'];
  for (const stream of streams) await app.get(StreamConsumerService).publish(stream, 'p');
  const outcomes = await Promise.all(streams.map((stream) => outcome(app, stream)));
  expect(outcomes).toEqual([...Array.from({ length: 4 }, () => 'committed'), 'no', 'thrown', 'observed']);
  expect(seen).toEqual(['twice', 'twice']);
});

it('a handler that is gone at run time is a failure', async () => {
  class Jobs {
    @StreamConsumer({ stream: 's', group: 'g', attempts: 2 })
    handle(): void {
      seen.push('handled');
    }
  }
  const app = await boot({ providers: [Jobs] });
  Object.defineProperty(app.get(Jobs), 'handle', { value: undefined });
  await app.get(StreamConsumerService).publish('s', 'p');
  expect(await outcome(app, 's')).toMatch(/The handler Jobs\.handle is no longer a function/);
  expect(seen).toEqual([]);
});
