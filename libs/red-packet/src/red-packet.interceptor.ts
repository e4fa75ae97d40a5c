import { Injectable, type CallHandler, type ExecutionContext, type NestInterceptor } from '@nestjs/common';
import { ModuleRef, ModulesContainer } from '@nestjs/core';
import { IdempotencyInterceptor, OnceService } from 'luanest/once';
import { InvalidOptionError } from '../../internal/src';
import { from, mergeMap, type Observable } from 'rxjs';
import { optionalProvider } from './optional-provider';

/**
 * Answers a repeated admin request, by its `Idempotency-Key`, as the first was answered, where the app has OnceModule with
 * `idempotency`. Grabs need none of it: they are repeatable without a key.
 */
@Injectable()
export class RedPacketIdempotency implements NestInterceptor {
  private delegate: Promise<NestInterceptor | undefined> | undefined;

  constructor(
    private readonly moduleRef: ModuleRef,
    private readonly modules: ModulesContainer,
  ) {}

  intercept(context: ExecutionContext, next: CallHandler): Observable<unknown> {
    this.delegate ??= this.find();
    return from(this.delegate).pipe(
      mergeMap(async (delegate) => (delegate === undefined ? next.handle() : delegate.intercept(context, next))),
      mergeMap((answer) => answer),
    );
  }

  private async find(): Promise<NestInterceptor | undefined> {
    if (optionalProvider(this.modules, this.moduleRef, OnceService) === undefined) return undefined;
    try {
      return await this.moduleRef.create(IdempotencyInterceptor);
    } catch (error) {
      // The module is there for other things, and nobody has said whose keys they are.
      if (error instanceof InvalidOptionError) return undefined;
      throw error;
    }
  }
}
