import { Injectable, type CallHandler, type ExecutionContext, type NestInterceptor } from '@nestjs/common';
import { ModuleRef, ModulesContainer } from '@nestjs/core';
import { IdempotencyInterceptor, OnceService } from 'luanest/once';
import { InvalidOptionError } from '../../internal/src';
import { from, mergeMap, type Observable } from 'rxjs';
import { optionalProvider } from './optional-provider';

/**
 * Makes POST requests of admins idempotent, as `@Idempotent()` does, if the app has OnceModule with the option `idempotency`. Grabs need no
 * idempotency key, because a winner who grabs again gets the same packet.
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
      mergeMap((response) => response),
    );
  }

  /** Returns the interceptor of OnceModule; undefined without OnceModule or without its option `idempotency`. */
  private async find(): Promise<NestInterceptor | undefined> {
    if (optionalProvider(this.modules, this.moduleRef, OnceService) === undefined) return undefined;
    try {
      return await this.moduleRef.create(IdempotencyInterceptor);
    } catch (error) {
      // The app has OnceModule without the option `idempotency`.
      if (error instanceof InvalidOptionError) return undefined;
      throw error;
    }
  }
}
