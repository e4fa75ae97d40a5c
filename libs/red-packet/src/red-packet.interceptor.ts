import { Injectable, type CallHandler, type ExecutionContext, type NestInterceptor } from '@nestjs/common';
import { ModuleRef, ModulesContainer } from '@nestjs/core';
import { IdempotencyInterceptor, OnceService } from 'luanest/once';
import { InvalidOptionError } from '../../internal/src';
import { from, mergeMap, type Observable } from 'rxjs';
import { optionalProvider } from './optional-provider';

/**
 * Makes admin requests idempotent by their `Idempotency-Key` if the app has OnceModule with `idempotency`: a repeat gets the
 * first response. Grabs are idempotent without a key.
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

  private async find(): Promise<NestInterceptor | undefined> {
    if (optionalProvider(this.modules, this.moduleRef, OnceService) === undefined) return undefined;
    try {
      return await this.moduleRef.create(IdempotencyInterceptor);
    } catch (error) {
      // The app uses OnceModule without `idempotency`.
      if (error instanceof InvalidOptionError) return undefined;
      throw error;
    }
  }
}
